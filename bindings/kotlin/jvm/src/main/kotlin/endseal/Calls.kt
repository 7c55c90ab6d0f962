/** Identities and envelopes, by calls that suspend while the library works. */
package endseal

import java.io.InputStream
import java.io.OutputStream
import java.nio.ByteBuffer
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.withContext

/** Threads of the library's work, so that no caller's thread waits for it. */
internal val work: CoroutineDispatcher =
    Dispatchers.IO.limitedParallelism(Runtime.getRuntime().availableProcessors(), "endseal")

/** Length of the pieces of a stream in bytes. */
private const val PIECE = 1 shl 20

/** Code of the error, as in docs/spec/envelope.md. Codes do not change. */
val EndsealException.code: String
    get() = when (this) {
        is EndsealException.Argument -> "argument"
        is EndsealException.Header -> "header"
        is EndsealException.Version -> "version"
        is EndsealException.Limit -> "limit"
        is EndsealException.Authentication -> "authentication"
        is EndsealException.Suite -> "suite"
        is EndsealException.Sender -> "sender"
        is EndsealException.TooOld -> "too-old"
        is EndsealException.TooNew -> "too-new"
        is EndsealException.Replayed -> "replayed"
        is EndsealException.Random -> "random"
        is EndsealException.Passphrase -> "passphrase"
    }

/** Error for a text with half of a surrogate pair, which no UTF-8 text can have. */
internal fun refusedText(calls: UniffiRustCallStatusErrorHandler<*>): Exception {
    val reason = "a text has half of a surrogate pair"
    return when (calls) {
        SessionException -> SessionException.Argument("argument", reason)
        else -> EndsealException.Argument(reason)
    }
}

/** Opens an identity file with its passphrase; `null` if it was made without one. */
suspend fun Identity.Companion.unlock(file: String, passphrase: String?): Identity =
    withContext(work) { unlockNow(file, passphrase) }

/** Returns the identity file, sealed under a passphrase. Only its owner may read it. */
suspend fun Identity.lock(passphrase: String): String = withContext(work) { lockNow(passphrase) }

/** Seals content. */
suspend fun seal(content: ByteArray, options: SealOptions): ByteArray =
    withContext(work) { lent(content) { sealNow(it, options) } }

/** Opens an envelope. */
suspend fun open(envelope: ByteArray, options: OpenOptions): OpenedContent =
    withContext(work) { lent(envelope) { openNow(it, options) } }

/**
 * Opens many envelopes for one reader, which costs a fraction of opening each. The results are in
 * the order of the envelopes; those that were refused have an [EndsealException].
 */
suspend fun openMany(
    envelopes: List<ByteArray>,
    options: OpenOptions,
): List<Result<OpenedContent>> = withContext(work) {
    openManyNow(envelopes, options).map { one ->
        one.error?.let { Result.failure(it) } ?: Result.success(checkNotNull(one.opened))
    }
}

/** Reads the public part of an envelope. Nothing of it is authentic. */
fun inspect(envelope: ByteArray): Inspected = lent(envelope) { inspect(it) }

/** Seals all that `from` gives. Closes neither stream. */
suspend fun seal(from: InputStream, to: OutputStream, options: SealOptions): Unit =
    withContext(work) {
        SealStream(options).use { stream ->
            pieces(from) {
                ensureActive()
                to.write(stream.push(it))
            }
            to.write(stream.finish())
        }
    }

/**
 * Opens the envelope that `from` gives. Closes neither stream. What was written to `to` is
 * authentic, but it is not all unless the call succeeds: the envelope may have been cut short.
 */
suspend fun open(from: InputStream, to: OutputStream, options: OpenOptions): Info =
    withContext(work) {
        OpenStream(options).use { stream ->
            pieces(from) {
                ensureActive()
                to.write(stream.feed(it))
            }
            to.write(stream.finish())
            checkNotNull(stream.info()) { "an envelope that was opened has a sender" }
        }
    }

/** Reads a stream to its end, through memory that is wiped. */
private inline fun pieces(from: InputStream, take: (ByteBuffer) -> Unit) {
    val piece = ByteArray(PIECE)
    val lent = ByteBuffer.allocateDirect(PIECE)
    try {
        while (true) {
            val len = from.read(piece)
            if (len < 0) return
            lent.clear().put(piece, 0, len).flip()
            take(lent)
        }
    } finally {
        piece.fill(0)
        wipe(lent)
    }
}

/** Copies bytes to memory that the library can read, and wipes it at the end. */
private inline fun <T> lent(bytes: ByteArray, call: (ByteBuffer) -> T): T {
    val lent = ByteBuffer.allocateDirect(bytes.size).put(bytes).flip()
    try {
        return call(lent)
    } finally {
        wipe(lent)
    }
}

private fun wipe(memory: ByteBuffer) {
    memory.clear()
    while (memory.hasRemaining()) memory.put(0)
}
