import com.wire.crypto.client.CoreCryptoCentral
import com.wire.crypto.client.ProteusClient
import java.nio.file.Files
import java.nio.file.Path

/**
 * The same backlog for CoreCrypto as it was before it had transactions. It stores the state of the
 * session at each message, and no content.
 */
class CoreCrypto private constructor(
    private val folder: Path,
    private val messages: List<ByteArray>,
    private val conversations: Int,
) {
    /** An awaited call for each message, which stores the session before it returns. */
    suspend fun each(): Long {
        val now = folder.resolve("now").also { copy(folder.resolve("reader"), it) }
        return used(now) { client ->
            var bytes = 0
            val time = timed {
                messages.forEachIndexed { n, message ->
                    bytes += client.decrypt(message, "${n % conversations}").size
                }
            }
            check(bytes == messages.size * 100)
            time
        }
    }

    companion object {
        private val key = "00".repeat(32)

        suspend fun prepare(folder: Path, count: Int, conversations: Int): CoreCrypto {
            val (reader, sender) = folder.resolve("reader") to folder.resolve("sender")
            val messages = used(reader) { to ->
                used(sender) { from ->
                    val hello = ByteArray(16)
                    for (session in 0..<conversations) {
                        val preKey = to.newPreKeys(session + 1, 1).single()
                        to.decrypt(from.encryptWithPreKey(hello, preKey, "$session"), "$session")
                        from.decrypt(to.encrypt(hello, "$session"), "$session")
                        to.decrypt(from.encrypt(hello, "$session"), "$session")
                    }
                    List(count) { from.encrypt(ByteArray(100), "${it % conversations}") }
                }
            }
            return CoreCrypto(folder, messages, conversations)
        }

        private suspend fun <T> used(folder: Path, work: suspend (ProteusClient) -> T): T {
            Files.createDirectories(folder)
            val central = CoreCryptoCentral(folder.toString(), key)
            try {
                return work(central.proteusClient())
            } finally {
                central.close()
            }
        }
    }
}
