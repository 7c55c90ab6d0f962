package endseal

import java.io.ByteArrayInputStream
import java.io.ByteArrayOutputStream
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertArrayEquals
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.assertThrows

private const val CONTEXT = "com.example.test 1"

class EnvelopeTest {
    private val ana = Identity.generate()
    private val ben = Identity.generate()
    private val to = Recipients(listOf(ben.publicIdentity()))
    private val sealing = SealOptions(ana, to, CONTEXT)
    private val opening = OpenOptions(ben, CONTEXT)

    @Test
    fun `messages are opened by their readers alone`() = runBlocking<Unit> {
        val envelope = seal("at noon".toByteArray(), sealing.copy(time = 1_790_000_000_000u))
        val opened = open(envelope, opening)
        assertEquals("at noon", opened.content.decodeToString())
        assertArrayEquals(ana.publicIdentity().key(), opened.info.sender.key())
        assertEquals(1_790_000_000_000u, opened.info.time)
        assertEquals(Suite.HYBRID, opened.info.suite)
        assertEquals(7uL, inspect(envelope).contentLength)

        for (other in listOf(opening.copy(identity = ana), opening.copy(context = "other"))) {
            assertThrows<EndsealException.Authentication> { open(envelope, other) }
        }
        assertThrows<EndsealException.Sender> {
            open(envelope, opening.copy(senders = listOf(ben.publicIdentity())))
        }
        assertThrows<EndsealException.TooOld> { open(envelope, opening.copy(maxAge = 1000u)) }
        assertThrows<EndsealException.Header> { open(ByteArray(99), opening) }
        val refused = assertThrows<EndsealException> { open(envelope.copyOf(99), opening) }
        assertTrue(refused.code in setOf("header", "authentication"), refused.code)
        val many = openMany(listOf(envelope, ByteArray(3)), opening)
        val codes = many.map { (it.exceptionOrNull() as EndsealException?)?.code }
        assertEquals(listOf(null, "header"), codes)
        assertEquals("at noon", many[0].getOrThrow().content.decodeToString())
    }

    @Test
    fun `many calls at once`() = runBlocking<Unit> {
        val texts = (0 until 200).map { "text $it" }
        val opened = texts.map { text ->
            async { open(seal(text.toByteArray(), sealing), opening).content.decodeToString() }
        }
        assertEquals(texts, opened.awaitAll())
    }

    @Test
    fun `streams are whole or end in an error`() = runBlocking<Unit> {
        val content = ByteArray(9 shl 20) { (it * 31 shr 3).toByte() }
        val envelope = ByteArrayOutputStream()
        seal(ByteArrayInputStream(content), envelope, sealing)
        val opened = ByteArrayOutputStream()
        val info = open(ByteArrayInputStream(envelope.toByteArray()), opened, opening)
        assertArrayEquals(content, opened.toByteArray())
        assertEquals(null, info.time)

        val cut = envelope.toByteArray().copyOf(envelope.size() - 1)
        val part = ByteArrayOutputStream()
        assertThrows<EndsealException.Authentication> {
            open(ByteArrayInputStream(cut), part, opening)
        }
        assertArrayEquals(content.copyOf(part.size()), part.toByteArray())
    }

    @Test
    fun `identities are locked, unlocked and wiped`() = runBlocking<Unit> {
        val file = ana.lock("zu spät für Tee")
        val same = Identity.unlock(file, "zu spät für Tee")
        assertEquals(ana.publicIdentity().toString(), same.publicIdentity().toString())
        assertThrows<EndsealException.Passphrase> { Identity.unlock(file, "zu früh") }
        assertThrows<EndsealException.Passphrase> { Identity.unlock(file, null) }
        assertThrows<EndsealException.Argument> { ana.lock("") }
        same.use { assertTrue(it.publicIdentity().isPostQuantum()) }
        assertThrows<IllegalStateException> { same.publicIdentity() }
        val text = ben.publicIdentity().toString()
        assertEquals(text, PublicIdentity.parse(" $text\n").toString())
        assertThrows<EndsealException.Argument> { PublicIdentity.parse(text.drop(1)) }
    }
}
