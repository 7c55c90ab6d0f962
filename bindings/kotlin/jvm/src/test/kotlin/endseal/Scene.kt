package endseal

import java.io.DataInputStream
import java.io.DataOutputStream
import java.nio.file.Files
import java.nio.file.Path

/** Devices whose stores are in one directory. */
class Scene : AutoCloseable {
    val directory: Path = Files.createTempDirectory("endseal-kotlin-")
    private val engines = mutableListOf<Engine>()

    /** Makes a device of a new person. */
    suspend fun device(name: String): Engine {
        val identity = Identity.generate()
        return Engine.create(directory.resolve(name), secret, identity).also(engines::add)
    }

    override fun close() {
        engines.forEach(Engine::close)
        directory.toFile().deleteRecursively()
    }

    companion object {
        val secret: StoreSecret = StoreSecret.key(ByteArray(32) { it.toByte() })
    }
}

/** Begins a session of `this` with a device, and takes it there by a first message. */
suspend fun Engine.meet(other: Engine) {
    val bundle = other.transaction { it.prekeyBundles(1u) }.first()
    transaction { it.beginSession(other.address, bundle) }
    val hello = send(other, listOf("hello"))
    check(other.decryptBatch(hello).outcomes.single() is MessageOutcome.Delivered)
    val answer = other.send(this, listOf("answer"))
    check(decryptBatch(answer).outcomes.single() is MessageOutcome.Delivered)
    consume(inbox().map { it.number })
    other.consume(other.inbox().map { it.number })
}

/** Encrypts texts in one transaction. Returns them as the service delivers them. */
suspend fun Engine.send(to: Engine, texts: List<String>): List<IncomingMessage> {
    transaction { tx -> texts.forEach { tx.encrypt(to.address, it.toByteArray()) } }
    return delivered()
}

/** Takes all ciphertexts out of the outbox. */
suspend fun Engine.delivered(): List<IncomingMessage> {
    val pending = outbox(limit = 100_000u)
    sent(pending.map { it.number })
    return pending.map { message ->
        val origin = when (val conversation = message.conversation) {
            is ConversationId.Person -> MessageOrigin.Device(address)
            is ConversationId.Group -> MessageOrigin.Group(conversation.id)
        }
        val id = "${address.identity.takeLast(20)}/${message.number}"
        IncomingMessage(id.toByteArray(), origin, message.body)
    }
}

suspend fun Engine.texts(): List<String> =
    inbox(limit = 100_000u).map { it.plaintext.decodeToString() }

/** Messages of one device in a file, for another process. */
fun write(file: Path, messages: List<IncomingMessage>) {
    DataOutputStream(Files.newOutputStream(file).buffered()).use { out ->
        out.writeInt(messages.size)
        for (message in messages) {
            val address = (message.origin as MessageOrigin.Device).address
            for (part in listOf(message.id, address.identity.toByteArray(), message.body)) {
                out.writeInt(part.size)
                out.write(part)
            }
        }
    }
}

fun read(file: Path): List<IncomingMessage> =
    DataInputStream(Files.newInputStream(file).buffered()).use { from ->
        List(from.readInt()) {
            val (id, identity, body) = List(3) { from.readNBytes(from.readInt()) }
            val address = DeviceAddress(identity.decodeToString(), 1u)
            IncomingMessage(id, MessageOrigin.Device(address), body)
        }
    }
