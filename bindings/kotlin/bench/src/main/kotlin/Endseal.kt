import endseal.BatchOptions
import endseal.Engine
import endseal.Identity
import endseal.IncomingMessage
import endseal.MessageOrigin
import endseal.MessageOutcome
import endseal.PublicIdentity
import endseal.StoreSecret
import java.io.DataOutputStream
import java.nio.file.Files
import java.nio.file.Path

/** A backlog for a device with a session for each conversation, which has gone both ways. */
class Endseal private constructor(
    private val folder: Path,
    private val messages: List<IncomingMessage>,
) {
    private val kept = folder.resolve("reader")

    /** The messages, for another process. */
    val file: Path = folder.resolve("messages")

    /** Returns a copy of the store as it was before the first message. */
    fun copy(): Path = folder.resolve("now").also { copy(kept, it) }

    /** A call and a transaction for each message. */
    suspend fun each(): Long = Engine.open(copy(), secret).use { engine ->
        val outcomes = ArrayList<MessageOutcome>(messages.size)
        val time = timed {
            for (message in messages) outcomes += engine.decryptBatch(listOf(message)).outcomes
        }
        checked(outcomes, time)
    }

    /** One call and one transaction for all messages. */
    suspend fun all(): Long = Engine.open(copy(), secret).use { engine ->
        var outcomes = emptyList<MessageOutcome>()
        val time = timed { outcomes = engine.decryptBatch(messages, BatchOptions(0u)).outcomes }
        checked(outcomes, time)
    }

    private fun checked(outcomes: List<MessageOutcome>, time: Long): Long {
        check(outcomes.size == messages.size && outcomes.all { it is MessageOutcome.Delivered })
        return time
    }

    companion object {
        private val secret = StoreSecret.key(ByteArray(32) { it.toByte() })

        suspend fun prepare(folder: Path, count: Int, conversations: Int): Endseal {
            Files.createDirectories(folder)
            val reader = Engine.create(folder.resolve("reader"), secret, Identity.generate())
            val senders = List(conversations) {
                Engine.create(folder.resolve("sender-$it"), secret, Identity.generate())
            }
            for (sender in senders) {
                val bundle = reader.transaction { it.prekeyBundles(1u) }.first()
                sender.transaction { it.beginSession(reader.address, bundle) }
                deliver(sender, reader)
                deliver(reader, sender)
                // The ratchet step of the first message in a new chain is not of the backlog.
                deliver(sender, reader)
            }
            reader.consume(reader.inbox().map { it.number })
            val sent = senders.map { it.send(reader, (count + conversations - 1) / conversations) }
            (senders + reader).forEach(Engine::close)
            val messages = List(count) { sent[it % conversations][it / conversations] }
            return Endseal(folder, messages).also { it.write() }
        }

        private suspend fun deliver(from: Engine, to: Engine) {
            val outcome = to.decryptBatch(from.send(to, 1)).outcomes.single()
            check(outcome is MessageOutcome.Delivered)
        }

        private suspend fun Engine.send(to: Engine, count: Int): List<IncomingMessage> {
            transaction { tx -> repeat(count) { tx.encrypt(to.address, ByteArray(100)) } }
            val pending = outbox(limit = count.toUInt())
            sent(pending.map { it.number })
            return pending.map {
                val id = "${address.identity.takeLast(20)}/${it.number}".toByteArray()
                IncomingMessage(id, MessageOrigin.Device(address), it.body)
            }
        }
    }

    private fun write() = DataOutputStream(Files.newOutputStream(file).buffered()).use { out ->
        out.writeInt(messages.size)
        for (message in messages) {
            val sender = (message.origin as MessageOrigin.Device).address.identity
            for (part in listOf(message.id, PublicIdentity.parse(sender).key(), message.body)) {
                out.writeInt(part.size)
                out.write(part)
            }
        }
    }
}
