package endseal

import java.nio.file.Path
import java.util.concurrent.TimeUnit
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

private const val COUNT = 2000

/** Processes that are killed by SIGKILL lose nothing that was committed, and repeat nothing. */
class KillTest {
    @Test
    fun `a process that is killed in a batch`() = runBlocking<Unit> {
        Scene().use { scene ->
            var inTheMiddle = 0
            for (wait in listOf(20L, 60L, 120L, 250L)) {
                val delivered = killed(scene, "batch-$wait", "batch", wait)
                if (delivered in 1..<COUNT) inTheMiddle += 1
            }
            assertTrue(inTheMiddle > 0, "no kill was in the middle of a batch")
        }
    }

    @Test
    fun `a process that is killed in a transaction`() = runBlocking<Unit> {
        Scene().use { scene -> assertEquals(0, killed(scene, "transaction", "transaction", 0)) }
    }

    /** Kills a process at its work and delivers all again. Returns how many it had delivered. */
    private suspend fun killed(scene: Scene, name: String, mode: String, wait: Long): Int {
        val (ana, ben) = scene.device("$name-ana") to scene.device("$name-ben")
        ana.meet(ben)
        val texts = List(COUNT) { "text $it" }
        val messages = ana.send(ben, texts)
        ben.close()
        val (store, file) = scene.directory.resolve("$name-ben") to scene.directory.resolve(name)
        write(file, messages)

        val classes = System.getProperty("surefire.test.class.path")
        val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
        val command = listOf(java, "-cp", classes, "endseal.KillTestKt", mode, "$store", "$file")
        val child = ProcessBuilder(command)
            .redirectError(ProcessBuilder.Redirect.INHERIT).start()
        assertEquals("at work", child.inputReader().readLine())
        delay(wait)
        // SIGKILL, on Linux.
        child.destroyForcibly()
        assertTrue(child.waitFor(10, TimeUnit.SECONDS))
        assertEquals(128 + 9, child.exitValue())

        return Engine.open(store, Scene.secret).use { opened ->
            val before = opened.texts()
            assertEquals(texts.take(before.size), before)
            val outcomes = opened.decryptBatch(messages).outcomes
            assertTrue(outcomes.take(before.size).all { it is MessageOutcome.AlreadyDelivered })
            assertTrue(outcomes.drop(before.size).all { it is MessageOutcome.Delivered })
            assertEquals(texts, opened.texts())
            before.size
        }
    }
}

/** The process that is killed. */
fun main(arguments: Array<String>) = runBlocking {
    val (mode, store, file) = arguments
    val messages = read(Path.of(file))
    val engine = Engine.open(Path.of(store), Scene.secret)
    if (mode == "batch") {
        println("at work")
        engine.decryptBatch(messages, BatchOptions(messagesPerCommit = 1u))
    } else {
        engine.transaction { tx ->
            tx.decryptBatch(messages)
            println("at work")
            delay(60_000)
        }
    }
    delay(60_000)
}
