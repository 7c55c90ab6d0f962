package endseal

import java.util.concurrent.atomic.AtomicBoolean
import kotlin.io.path.div
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.DelicateCoroutinesApi
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.GlobalScope
import kotlinx.coroutines.async
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.assertThrows

/** Callers that are cancelled at many moments of a call. */
class CancelTest {
    private val scene = Scene()

    @AfterEach
    fun end() = scene.close()

    private fun waitMicros(time: Int) {
        val until = System.nanoTime() + time * 1000L
        while (System.nanoTime() < until) Thread.onSpinWait()
    }

    @Test
    fun `a transaction throws if and only if nothing was committed`() = runBlocking<Unit> {
        val engine = scene.device("ana")
        var returned = 0
        repeat(200) { n ->
            val name = "record $n".toByteArray()
            val atEnd = CompletableDeferred<Unit>()
            val hasReturned = AtomicBoolean()
            val job = async(Dispatchers.Default) {
                engine.transaction {
                    it.putRecord(1u, name, name)
                    atEnd.complete(Unit)
                }
                hasReturned.set(true)
            }
            atEnd.await()
            waitMicros(n % 50 * 40)
            job.cancel()
            job.join()
            val isStored = engine.transaction { it.record(1u, name) } != null
            assertEquals(isStored, hasReturned.get(), "attempt $n")
            if (isStored) returned++
        }
        assertTrue(returned > 0, "all were cancelled before the commit")
    }

    @Test
    @OptIn(DelicateCoroutinesApi::class)
    fun `a transaction that is cancelled as it begins blocks no other call`() = runBlocking<Unit> {
        val engine = scene.device("ana")
        repeat(400) { n ->
            val job = async(Dispatchers.Default) { engine.transaction { it.inbox() } }
            waitMicros(n % 40 * 10)
            job.cancel()
            job.join()
            // A scope of its own: a call that hangs in the library cannot be cancelled.
            val next = GlobalScope.async { engine.inbox().size }
            assertEquals(0, withTimeout(30_000) { next.await() }, "attempt $n")
        }
    }

    @Test
    fun `stores whose opening was cancelled are not locked`() = runBlocking<Unit> {
        scene.device("store").close()
        val store = scene.directory / "store"
        var cancelled = 0
        repeat(60) { n ->
            val job = async(Dispatchers.Default) { Engine.open(store, Scene.secret).close() }
            waitMicros(n * 500)
            job.cancel()
            job.join()
            if (job.isCancelled) cancelled++
            Engine.open(store, Scene.secret).close()
        }
        assertTrue(cancelled > 0, "all were opened before")
        val passphrase = StoreSecret.passphrase("keep it secret")
        for (time in listOf(1, 20_000, 100_000)) {
            val place = scene.directory / "new $time"
            val job = async(Dispatchers.Default) {
                Engine.create(place, passphrase, Identity.generate()).close()
            }
            waitMicros(time)
            job.cancel()
            job.join()
            if (place.toFile().exists()) {
                Engine.open(place, passphrase).close()
            } else {
                Engine.create(place, passphrase, Identity.generate()).close()
            }
        }
        Engine.open(store, Scene.secret).use {
            val refused = assertThrows<SessionException.Store> { Engine.open(store, Scene.secret) }
            assertEquals("locked", refused.code)
            val reason = refused.reason
            assertEquals("this or another process has the store open", reason)
        }
    }
}
