package endseal

import java.nio.file.Path
import java.util.concurrent.TimeUnit
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

private const val COUNT = 2000

/** Processes that are killed by SIGKILL lose nothing that was committed, and repeat nothing. */
class KillTest {
    @Test
    fun `a process that is killed in a batch`() = runBlocking<Unit> {
        Scene().use { scene ->
            for (bytes in listOf(30_000L, 300_000L, 2_000_000L)) {
                val delivered = killed(scene, "batch-$bytes", "batch", bytes)
                assertTrue(delivered in 1..<COUNT, "$delivered messages before the end")
            }
        }
    }

    @Test
    fun `a process that is killed in a transaction`() = runBlocking<Unit> {
        Scene().use { scene -> assertEquals(0, killed(scene, "transaction", "transaction", 0)) }
    }

    /**
     * Kills a process when its store has grown by so many bytes, and delivers all again. Returns
     * how many messages it had delivered.
     */
    private suspend fun killed(scene: Scene, name: String, mode: String, bytes: Long): Int {
        val (ana, ben) = scene.device("$name-ana") to scene.device("$name-ben")
        ana.meet(ben)
        val texts = List(COUNT) { "text $it" }
        val messages = ana.send(ben, texts)
        ben.close()
        val (store, file) = scene.directory.resolve("$name-ben") to scene.directory.resolve(name)
        write(file, messages)

        val classes = System.getProperty("surefire.test.class.path")
        val size = { store.toFile().walk().filter { it.isFile }.sumOf { it.length() } }
        val before = size()
        val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
        val command = listOf(java, "-cp", classes, "endseal.KillTestKt", mode, "$store", "$file")
        val child = ProcessBuilder(command)
            .redirectError(ProcessBuilder.Redirect.INHERIT).start()
        assertEquals("at work", child.inputReader().readLine())
        withTimeout(60_000) { while (size() < before + bytes) delay(1) }
        // SIGKILL, on Linux.
        child.destroyForcibly()
        assertTrue(child.waitFor(10, TimeUnit.SECONDS))
        assertEquals(128 + 9, child.exitValue())

        return Engine.open(store, Scene.secret).use { opened ->
            val kept = opened.texts()
            assertEquals(texts.take(kept.size), kept)
            val outcomes = opened.decryptBatch(messages).outcomes
            assertTrue(outcomes.take(kept.size).all { it is MessageOutcome.AlreadyDelivered })
            assertTrue(outcomes.drop(kept.size).all { it is MessageOutcome.Delivered })
            assertEquals(texts, opened.texts())
            kept.size
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
