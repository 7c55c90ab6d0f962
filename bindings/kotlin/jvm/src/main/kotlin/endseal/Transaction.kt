package endseal

import kotlinx.coroutines.withContext

/**
 * Several operations of an engine, which all take effect or none. After the end of its block every
 * call throws [SessionException.Ended].
 */
class Transaction internal constructor(private val handle: TransactionHandle) {
    /** Decrypts messages, each with its own result. They are delivered with the commit. */
    suspend fun decryptBatch(messages: List<IncomingMessage>): List<MessageOutcome> =
        native { handle.decryptBatch(messages.encodable()) }

    /** Encrypts a message to a device. Returns its number in the outbox, for after the commit. */
    suspend fun encrypt(to: DeviceAddress, plaintext: ByteArray): ULong =
        native { handle.encrypt(to, plaintext) }

    /** Encrypts a message to all devices of a person with which there is a session. */
    suspend fun encryptToPerson(identity: String, plaintext: ByteArray): List<ULong> =
        native { handle.encryptToPerson(identity, plaintext) }

    /** Begins a session with a device, by one of its bundles. */
    suspend fun beginSession(to: DeviceAddress, bundle: ByteArray): Unit =
        native { handle.beginSession(to, bundle) }

    /** Lets sessions with a device receive alone, so that the next message needs a new bundle. */
    suspend fun resetSession(with: DeviceAddress): Unit = native { handle.resetSession(with) }

    /**
     * Returns bundles to publish: up to [count] that serve once, and as the last one that which
     * serves when none is left. The same ones return until they are published or used.
     */
    suspend fun prekeyBundles(count: UInt): List<ByteArray> = native { handle.prekeyBundles(count) }

    /** Records that bundles have arrived in the directory of the service. */
    suspend fun published(bundles: List<ByteArray>): Unit = native { handle.published(bundles) }

    /** Returns decrypted messages with numbers above [after], those of this transaction too. */
    suspend fun inbox(after: ULong = 0u, limit: UInt = 100u): List<InboxMessage> =
        native { handle.inbox(after, limit) }

    /** Deletes a message of the inbox. Returns true if it was there. */
    suspend fun consume(number: ULong): Boolean = native { handle.consume(number) }

    /** Deletes a sent ciphertext of the outbox. Returns true if it was there. */
    suspend fun sent(number: ULong): Boolean = native { handle.sent(number) }

    /** Returns a record of the application. */
    suspend fun record(kind: UShort, name: ByteArray): ByteArray? =
        native { handle.record(kind, name) }

    /** Writes a record of the application: state of its own that changes with its messages. */
    suspend fun putRecord(kind: UShort, name: ByteArray, value: ByteArray): Unit =
        native { handle.putRecord(kind, name, value) }

    /** Deletes a record of the application. Returns true if it was there. */
    suspend fun removeRecord(kind: UShort, name: ByteArray): Boolean =
        native { handle.removeRecord(kind, name) }

    /** Makes a key package, with which others add this device to one group. */
    suspend fun keyPackage(): ByteArray = native { handle.keyPackage() }

    /** Makes an MLS group with this device as its only member. Its id has 1 to 63 bytes. */
    suspend fun createGroup(id: ByteArray): Unit = native { handle.createGroup(id) }

    /**
     * Commits to add devices to a group, by their key packages. Returns the number of the commit in
     * the outbox. It is pending until it comes back from the service, or until [acceptCommit] or
     * [discardCommit]; invitations are in the outbox once it is accepted.
     */
    suspend fun addToGroup(id: ByteArray, keyPackages: List<ByteArray>): ULong =
        native { handle.addToGroup(id, keyPackages) }

    /** Commits to remove devices from a group, as [addToGroup]. */
    suspend fun removeFromGroup(id: ByteArray, members: List<DeviceAddress>): ULong =
        native { handle.removeFromGroup(id, members) }

    /** Commits new keys of this device and the proposals that have come, as [addToGroup]. */
    suspend fun updateGroup(id: ByteArray): ULong = native { handle.updateGroup(id) }

    /** Applies the pending commit of this device, after the service has put it first. */
    suspend fun acceptCommit(id: ByteArray): Unit = native { handle.acceptCommit(id) }

    /** Drops the pending commit of this device, because another one was first. */
    suspend fun discardCommit(id: ByteArray): Unit = native { handle.discardCommit(id) }

    /** Joins the group of an invitation. */
    suspend fun joinGroup(welcome: ByteArray): JoinedGroup = native { handle.joinGroup(welcome) }

    /** Encrypts a message to all members of a group. Returns its number in the outbox. */
    suspend fun encryptToGroup(id: ByteArray, plaintext: ByteArray): ULong =
        native { handle.encryptToGroup(id, plaintext) }

    /** Proposes that this device leaves a group, which another member commits. */
    suspend fun leaveGroup(id: ByteArray): ULong = native { handle.leaveGroup(id) }

    /** Deletes a group from the store. Returns false if there was none. */
    suspend fun forgetGroup(id: ByteArray): Boolean = native { handle.forgetGroup(id) }

    /** Returns the state of a group; `null` if this device does not know it. */
    suspend fun group(id: ByteArray): GroupInfo? = native { handle.group(id) }

    private suspend fun <T> native(call: () -> T): T = withContext(work) { call() }
}
