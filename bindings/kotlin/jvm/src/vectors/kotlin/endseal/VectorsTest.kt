package endseal

import java.io.ByteArrayInputStream
import java.io.ByteArrayOutputStream
import java.io.File
import java.nio.ByteBuffer
import java.util.HexFormat
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test

/** The vectors of docs/spec/envelope.md, in memory and as streams. */
class VectorsTest {
    private class Facts(val info: List<Any?>, val content: ByteArray)

    @Test
    fun `every vector is opened or refused`() = runBlocking<Unit> {
        var (opened, refused) = 0 to 0
        // Lines of bindings/c/tests/vectors.py.
        for (line in File(System.getenv("ENDSEAL_VECTORS")).readLines()) {
            val row = line.split(" ")
            val (expect, path, context, ed25519, mlkem768) = row
            val envelope = File(path).readBytes()
            val identity = identityFromSeeds(buffer(bytes(ed25519)), buffer(bytes(mlkem768)))
            val options = OpenOptions(identity, bytes(context).decodeToString())
            val results = listOf(::whole, ::many, ::stream).map { way ->
                runCatching { way(envelope, options) }
            }
            if (expect != "ok") {
                val codes = results.map { (it.exceptionOrNull() as EndsealException).code }
                assertEquals(List(3) { expect }, codes, path)
                refused += 1
                continue
            }
            for (result in results) {
                val facts = result.getOrThrow()
                assertEquals(row.slice(5..8), facts.info, path)
                assertEquals(row[9].toInt(), facts.content.size, path)
                if (row[10] != "-") assertEquals(row[10], hex(facts.content), path)
            }
            opened += 1
        }
        println("${opened + refused} vectors: $opened opened, $refused refused")
        assertEquals(28 to 69, opened to refused)
    }

    private suspend fun whole(envelope: ByteArray, options: OpenOptions): Facts {
        val opened = open(envelope, options)
        return Facts(texts(opened.info), opened.content)
    }

    private suspend fun many(envelope: ByteArray, options: OpenOptions): Facts {
        val one = openMany(listOf(envelope), options).single().getOrThrow()
        return Facts(texts(one.info), one.content)
    }

    private suspend fun stream(envelope: ByteArray, options: OpenOptions): Facts {
        val content = ByteArrayOutputStream()
        val info = open(ByteArrayInputStream(envelope), content, options)
        return Facts(texts(info), content.toByteArray())
    }

    private fun texts(info: Info): List<String> {
        val suite = when (info.suite) {
            Suite.HYBRID -> "x25519-mlkem768"
            Suite.X25519 -> "x25519"
            Suite.X25519_COMPACT -> "x25519-compact"
        }
        val time = (info.time ?: 0u).toString()
        return listOf(suite, hex(info.sender.key()), hex(info.messageId), time)
    }

    private fun bytes(hex: String): ByteArray =
        if (hex == "-") ByteArray(0) else HexFormat.of().parseHex(hex)

    private fun hex(bytes: ByteArray): String = HexFormat.of().formatHex(bytes)

    private fun buffer(bytes: ByteArray): ByteBuffer =
        ByteBuffer.allocateDirect(bytes.size).put(bytes).flip()
}
