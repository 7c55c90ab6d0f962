package endseal

import kotlin.io.path.div
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.assertThrows

/** Objects that were closed are refused by all functions that take them, and never read. */
class ClosedTest {
    private val context = "com.example.test 1"

    @Test
    fun `closed objects are refused by functions`() = runBlocking<Unit> {
        val (ana, ben) = Identity.generate() to Identity.generate()
        val to = Recipients(listOf(ben.publicIdentity()))
        val envelope = seal(ByteArray(9), SealOptions(ana, to, context))
        val closed = Identity.generate().apply { close() }
        val closedTo = Recipients(listOf(ben.publicIdentity())).apply { close() }
        val closedSender = ana.publicIdentity().apply { close() }
        val closedKey = StoreSecret.key(ByteArray(32) { 7 }).apply { close() }
        val closedPassphrase = StoreSecret.passphrase("correct horse").apply { close() }
        val senders = listOf(ana.publicIdentity(), closedSender)
        Scene().use { scene ->
            scene.device("store").close()
            val calls = listOf<suspend () -> Any?>(
                { seal(ByteArray(9), SealOptions(closed, to, context)) },
                { seal(ByteArray(9), SealOptions(ana, closedTo, context)) },
                { open(envelope, OpenOptions(closed, context)) },
                { open(envelope, OpenOptions(ben, context, senders = senders)) },
                { openMany(listOf(envelope), OpenOptions(closed, context)) },
                { seal("".byteInputStream(), System.out, SealOptions(closed, to, context)) },
                { open(envelope.inputStream(), System.out, OpenOptions(closed, context)) },
                { Recipients(listOf(ben.publicIdentity(), closedSender)) },
                { Engine.create(scene.directory / "a", closedKey, ana) },
                { Engine.create(scene.directory / "a", closedPassphrase, ana) },
                { Engine.create(scene.directory / "a", Scene.secret, closed) },
                { Engine.open(scene.directory / "store", closedKey) },
            )
            for (call in calls) assertThrows<IllegalStateException> { call() }
            assertFalse((scene.directory / "a").toFile().exists())
        }
    }

    @Test
    fun `objects that are closed by other threads`() = runBlocking<Unit> {
        val ben = Identity.generate()
        val to = Recipients(listOf(ben.publicIdentity()))
        val results = HashMap<String, Int>()
        repeat(500) { n ->
            val ana = Identity.generate()
            val short = ana.publicIdentity().short().toString()
            val jobs = List(4) {
                async(Dispatchers.IO) {
                    runCatching { seal(ByteArray(9), SealOptions(ana, to, context)) }
                }
            }
            val until = System.nanoTime() + n % 50 * 5_000L
            while (System.nanoTime() < until) Thread.onSpinWait()
            ana.close()
            for (result in jobs.awaitAll()) {
                result.onSuccess {
                    val opened = open(it, OpenOptions(ben, context))
                    assertEquals(short, opened.info.sender.toString())
                }
                val name = result.exceptionOrNull()?.let { it::class.simpleName } ?: "sealed"
                results.merge(name, 1, Int::plus)
            }
        }
        assertTrue((results.keys - setOf("sealed", "IllegalStateException")).isEmpty(), "$results")
        assertEquals(2, results.size, "$results")
    }
}
