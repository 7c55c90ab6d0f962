/** Conversations of one device over an encrypted store. */
package endseal

import java.nio.file.Path
import kotlin.coroutines.AbstractCoroutineContextElement
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.coroutineContext
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext

/** Code of the error, which does not change between versions. */
val SessionException.code: String
    get() = when (this) {
        is SessionException.Argument -> code
        is SessionException.Ended -> code
        is SessionException.Store -> code
        is SessionException.Send -> code
        is SessionException.Bundle -> code
        is SessionException.Group -> code
    }

/**
 * Sessions and groups of one device over its store, which no other process has open. Calls of
 * several coroutines run one after the other, and wait while a transaction is open.
 */
class Engine private constructor(private val handle: EngineHandle) : AutoCloseable {
    private val turn = Mutex()

    /** Address of this device. */
    val address: DeviceAddress = handle.address()

    /**
     * Runs [block] in a transaction. Everything that it does takes effect when the call returns, or
     * nothing if it throws or is cancelled: neither in the store nor in the sessions, so that the
     * same messages can be decrypted again. A caller that is cancelled while it commits gets its
     * result all the same, because a commit is not taken back. The transaction ends with the block.
     * Inside of it the engine itself refuses calls.
     */
    suspend fun <T> transaction(block: suspend (Transaction) -> T): T = alone {
        val transaction = uncancelled { handle.begin() }
        try {
            val open = OpenTransaction(this, coroutineContext[OpenTransaction])
            val result = try {
                withContext(open) { block(Transaction(transaction)) }
            } finally {
                open.end()
            }
            uncancelled { transaction.commit() }
            result
        } catch (error: Throwable) {
            uncancelled { runCatching { transaction.rollback() }.onFailure(error::addSuppressed) }
            throw error
        }
    }

    /**
     * Decrypts a backlog. Every message has its own result; a bad one does not affect others. When
     * the call returns, every message whose result is not `Failed` is in the store, and need not be
     * delivered again. If it throws, all of them can be.
     */
    suspend fun decryptBatch(
        messages: List<IncomingMessage>,
        options: BatchOptions = BatchOptions(),
    ): BatchResult = native { handle.decryptBatch(messages.encodable(), options) }

    /** Returns up to [limit] decrypted messages with numbers above [after], in ascending order. */
    suspend fun inbox(after: ULong = 0u, limit: UInt = 100u): List<InboxMessage> =
        native { handle.inbox(after, limit) }

    /** Deletes messages of the inbox in one transaction. Returns how many were there. */
    suspend fun consume(numbers: List<ULong>): UInt = native { handle.consume(numbers) }

    /** Returns up to [limit] ciphertexts to send with numbers above [after], in ascending order. */
    suspend fun outbox(after: ULong = 0u, limit: UInt = 100u): List<OutboxMessage> =
        native { handle.outbox(after, limit) }

    /** Deletes ciphertexts that have arrived, in one transaction. Returns how many were there. */
    suspend fun sent(numbers: List<ULong>): UInt = native { handle.sent(numbers) }

    /** Deletes sessions whose end has come. Call it once a day while the engine is open. */
    suspend fun expire(): UInt = native { handle.expire() }

    /** Removes replaced keys from the files of the store. Call it when the device is idle. */
    suspend fun settle(): Unit = native { handle.settle() }

    /**
     * Rolls an open transaction back and closes the store. Later calls throw
     * [SessionException.Ended] with the code `closed`.
     */
    override fun close() = handle.shut()

    private suspend fun <T> native(call: () -> T): T = alone { withContext(work) { call() } }

    private suspend fun <T> alone(call: suspend () -> T): T {
        if (coroutineContext[OpenTransaction]?.isOf(this) == true) {
            val reason = "inside of a transaction, its own functions are to be called"
            throw SessionException.Argument("argument", reason)
        }
        return turn.withLock { call() }
    }

    companion object {
        /**
         * Makes a store with a device in a new directory, or an empty one, and opens it. If the
         * caller is cancelled meanwhile, the store is made and closed: [open] opens it.
         */
        suspend fun create(
            directory: Path,
            secret: StoreSecret,
            identity: Identity,
            device: UInt = 1u,
        ): Engine =
            kept { EngineHandle.create(directory.toString(), secret, identity, device) }

        /** Opens the store of a directory. If the caller is cancelled meanwhile, it is closed. */
        suspend fun open(directory: Path, secret: StoreSecret): Engine =
            kept { EngineHandle.open(directory.toString(), secret) }

        /** Returns the engine, or closes it if the caller was cancelled and cannot close it. */
        private suspend fun kept(open: () -> EngineHandle): Engine {
            coroutineContext.ensureActive()
            val handle = uncancelled(open)
            try {
                coroutineContext.ensureActive()
            } catch (error: Throwable) {
                uncancelled { runCatching { handle.shut() }.onFailure(error::addSuppressed) }
                throw error
            }
            return Engine(handle)
        }

        /**
         * Calls the library, and returns its result even if the caller was cancelled meanwhile. The
         * outer context is what receives the result: with one context for both, the change of
         * threads at the end would drop the result of a cancelled caller.
         */
        private suspend fun <T> uncancelled(call: () -> T): T =
            withContext(NonCancellable) { withContext(work) { call() } }
    }

    /**
     * Marks coroutines within the block of a transaction, where a call of its engine would wait for
     * itself. Those that outlive the block keep the mark, which has no effect then.
     */
    private class OpenTransaction(private val engine: Engine, private val outer: OpenTransaction?) :
        AbstractCoroutineContextElement(Key) {
        @Volatile private var isOpen = true

        fun isOf(other: Engine): Boolean =
            isOpen && engine === other || outer?.isOf(other) == true

        fun end() {
            isOpen = false
        }

        companion object Key : CoroutineContext.Key<OpenTransaction>
    }
}
