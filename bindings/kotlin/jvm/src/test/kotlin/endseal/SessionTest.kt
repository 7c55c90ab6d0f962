package endseal

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Assertions.assertArrayEquals
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.assertThrows

class SessionTest {
    private val scene = Scene()

    @AfterEach
    fun end() = scene.close()

    private class Abort : Exception("aborted")

    private fun MessageOutcome.isDelivered() = this is MessageOutcome.Delivered

    @Test
    fun `an aborted transaction loses nothing`() = runBlocking<Unit> {
        val (ana, ben) = scene.device("ana") to scene.device("ben")
        ana.meet(ben)
        val texts = List(50) { "text $it" }
        val messages = ana.send(ben, texts)
        var answered = 0uL
        // Each time the ratchet has advanced, an answer was encrypted and a record written.
        for (count in listOf(1, 25, 50)) {
            assertThrows<Abort> {
                ben.transaction { tx ->
                    assertTrue(tx.decryptBatch(messages.take(count)).all { it.isDelivered() })
                    val read = tx.inbox().map { it.plaintext.decodeToString() }
                    assertEquals(texts.take(count), read)
                    answered = tx.encrypt(ana.address, "answer".toByteArray())
                    tx.putRecord(1u, "read".toByteArray(), byteArrayOf(count.toByte()))
                    throw Abort()
                }
            }
            assertEquals(emptyList<String>(), ben.texts())
            assertEquals(emptyList<OutboxMessage>(), ben.outbox())
        }
        // The same messages decrypt, in their order, and the answer has the same number.
        val outcomes = ben.transaction { tx ->
            assertNull(tx.record(1u, "read".toByteArray()))
            assertEquals(answered, tx.encrypt(ana.address, "answer".toByteArray()))
            tx.putRecord(1u, "read".toByteArray(), byteArrayOf(50))
            tx.decryptBatch(messages)
        }
        assertTrue(outcomes.all { it.isDelivered() }, outcomes.toString())
        assertEquals(texts, ben.texts())
        assertTrue(ana.decryptBatch(ben.delivered()).outcomes.single().isDelivered())
        assertEquals(listOf("answer"), ana.texts())
        assertArrayEquals(byteArrayOf(50), ben.transaction { it.record(1u, "read".toByteArray()) })
        // A second delivery is no error, and delivers nothing.
        val again = ben.decryptBatch(messages).outcomes
        assertTrue(again.all { it is MessageOutcome.AlreadyDelivered }, again.toString())
    }

    @Test
    fun `a cancelled transaction loses nothing`() = runBlocking<Unit> {
        val (ana, ben) = scene.device("ana") to scene.device("ben")
        ana.meet(ben)
        val messages = ana.send(ben, listOf("one", "two"))
        val decrypted = CompletableDeferred<Unit>()
        val job = launch {
            ben.transaction { tx ->
                tx.decryptBatch(messages)
                decrypted.complete(Unit)
                delay(60_000)
            }
        }
        decrypted.await()
        job.cancelAndJoin()
        assertEquals(emptyList<String>(), ben.texts())
        assertTrue(ben.decryptBatch(messages).outcomes.all { it.isDelivered() })
        assertEquals(listOf("one", "two"), ben.texts())
    }

    @Test
    fun `a transaction is refused after its end, and the engine within it`() = runBlocking<Unit> {
        val (ana, ben) = scene.device("ana") to scene.device("ben")
        ana.meet(ben)
        var kept: Transaction? = null
        ana.transaction { tx ->
            kept = tx
            val nested = listOf<suspend () -> Any?>(
                { ana.inbox() },
                { ana.transaction { } },
                { ben.transaction { ana.outbox() } },
            )
            for (call in nested) {
                val refused = assertThrows<SessionException.Argument> {
                    withTimeout(5000) { call() }
                }
                assertEquals("argument", refused.code)
            }
            ben.transaction { it.encrypt(ana.address, "other engine".toByteArray()) }
        }
        for (call in listOf<suspend () -> Any?>(
            { kept!!.encrypt(ben.address, "late".toByteArray()) },
            { kept!!.decryptBatch(emptyList()) },
            { kept!!.inbox() },
        )) {
            assertEquals("ended", assertThrows<SessionException.Ended> { call() }.code)
        }
        var aborted: Transaction? = null
        assertThrows<Abort> {
            ana.transaction { tx ->
                aborted = tx
                throw Abort()
            }
        }
        assertThrows<SessionException.Ended> { aborted!!.keyPackage() }
        assertEquals(emptyList<OutboxMessage>(), ana.outbox())
    }

    @Test
    fun `hostile messages cost their own result alone`() = runBlocking<Unit> {
        val (ana, ben) = scene.device("ana") to scene.device("ben")
        ana.meet(ben)
        val texts = List(9) { "text $it" }
        val good = ana.send(ben, texts)
        val body = good[4].body
        val changed = body.copyOf().also { it[it.size - 17] = (it[it.size - 17] + 1).toByte() }
        val origin = good[4].origin
        val from = { identity: String, device: UInt ->
            MessageOrigin.Device(DeviceAddress(identity, device))
        }
        val hostile = listOf(
            IncomingMessage("h1".toByteArray(), origin, changed) to "authentication",
            IncomingMessage("h2".toByteArray(), origin, ByteArray(0)) to "malformed",
            IncomingMessage("h3".toByteArray(), origin, ByteArray(2 shl 20)) to "malformed",
            IncomingMessage(ByteArray(0), origin, body) to "malformed",
            IncomingMessage(ByteArray(65), origin, body) to "malformed",
            IncomingMessage("h4".toByteArray(), from("endseal1", 1u), body) to "malformed",
            IncomingMessage("h5".toByteArray(), from(ana.address.identity, 0u), body) to
                "malformed",
        )
        val all = good.take(4) + hostile.map { it.first } + good.drop(4)
        val expected = List(4) { null } + hostile.map { it.second } + List(5) { null }
        val failures = { outcomes: List<MessageOutcome> ->
            outcomes.map { (it as? MessageOutcome.Failed)?.code }
        }
        // In a transaction that is aborted, and then in a batch.
        assertThrows<Abort> {
            ben.transaction { tx ->
                assertEquals(expected, failures(tx.decryptBatch(all)))
                throw Abort()
            }
        }
        assertEquals(expected, failures(ben.decryptBatch(all).outcomes))
        assertEquals(texts, ben.texts())
    }

    @Test
    fun `stores are opened by one process with the right secret`() = runBlocking<Unit> {
        val place = scene.directory.resolve("store")
        val passphrase = StoreSecret.passphrase("zu spät für Tee")
        val identity = Identity.generate()
        val engine = Engine.create(place, passphrase, identity)
        val refusals = listOf<Pair<String, suspend () -> Engine>>(
            "locked" to { Engine.open(place, passphrase) },
            "exists" to { Engine.create(place, passphrase, identity) },
            "missing" to { Engine.open(scene.directory.resolve("other"), passphrase) },
        )
        for ((code, call) in refusals) {
            assertEquals(code, assertThrows<SessionException.Store> { call() }.code)
        }
        engine.close()
        engine.close()
        val wrong = listOf(StoreSecret.passphrase("zu früh"), Scene.secret)
        for (secret in wrong) {
            val refused = assertThrows<SessionException.Store> { Engine.open(place, secret) }
            assertEquals("authentication", refused.code)
        }
        for (call in listOf<suspend () -> Any?>(
            { engine.inbox() },
            { engine.transaction { } },
            { engine.decryptBatch(emptyList()) },
        )) {
            assertEquals("closed", assertThrows<SessionException.Ended> { call() }.code)
        }
        Engine.open(place, passphrase).use { assertEquals(engine.address, it.address) }
        assertThrows<SessionException.Argument> { StoreSecret.key(ByteArray(31)) }
        assertThrows<SessionException.Argument> { StoreSecret.passphrase("") }
        assertThrows<SessionException.Argument> {
            Engine.create(scene.directory.resolve("new"), passphrase, identity, 0u)
        }
    }

    @Test
    fun `an engine that is closed in a transaction rolls it back`() = runBlocking<Unit> {
        val ana = scene.device("ana")
        assertThrows<SessionException.Ended> {
            ana.transaction { tx ->
                tx.createGroup("team".toByteArray())
                ana.close()
                tx.group("team".toByteArray())
            }
        }
        Engine.open(scene.directory.resolve("ana"), Scene.secret).use { opened ->
            assertNull(opened.transaction { it.group("team".toByteArray()) })
        }
    }

    @Test
    fun `many coroutines share an engine`() = runBlocking<Unit> {
        val (ana, ben) = scene.device("ana") to scene.device("ben")
        ana.meet(ben)
        val texts = List(100) { "text $it" }
        val messages = ana.send(ben, texts)
        val work = messages.mapIndexed { n, message ->
            async {
                when {
                    n % 10 == 9 -> runCatching {
                        ben.transaction { tx ->
                            tx.decryptBatch(listOf(message))
                            throw Abort()
                        }
                    }.exceptionOrNull()
                    n % 2 == 0 -> ben.transaction { it.decryptBatch(listOf(message)).single() }
                    else -> ben.decryptBatch(listOf(message)).outcomes.single()
                }
            }
        }.awaitAll()
        assertEquals(90, work.count { it is MessageOutcome.Delivered })
        assertEquals(10, work.count { it is Abort })
        val rest = ben.decryptBatch(messages).outcomes
        assertEquals(10, rest.count { it.isDelivered() })
        assertEquals(texts.sorted(), ben.texts().sorted())
    }

    @Test
    fun `what cannot be sent is refused, and the transaction goes on`() = runBlocking<Unit> {
        val (ana, ben) = scene.device("ana") to scene.device("ben")
        val bundle = ben.transaction { it.prekeyBundles(1u) }.first()
        ana.transaction { tx ->
            val none = assertThrows<SessionException.Send> {
                tx.encrypt(ben.address, "early".toByteArray())
            }
            assertEquals("no-session", none.code)
            val cut = assertThrows<SessionException.Bundle> {
                tx.beginSession(ben.address, bundle.copyOf(99))
            }
            assertEquals("bundle", cut.code)
            val other = assertThrows<SessionException.Bundle> {
                tx.beginSession(ana.address, bundle)
            }
            assertEquals("other-device", other.code)
            val unknown = assertThrows<SessionException.Group> {
                tx.acceptCommit("team".toByteArray())
            }
            assertEquals("no-group", unknown.code)
            tx.beginSession(ben.address, bundle)
            tx.encrypt(ben.address, "hello".toByteArray())
        }
        assertTrue(ben.decryptBatch(ana.delivered()).outcomes.single().isDelivered())
        assertEquals(listOf("hello"), ben.texts())
    }

    @Test
    fun `groups are made, joined, written to and left`() = runBlocking<Unit> {
        val (ana, ben, eva) = listOf("ana", "ben", "eva").map { scene.device(it) }
        val id = "team".toByteArray()
        val packages = listOf(ben, eva).map { device -> device.transaction { it.keyPackage() } }
        ana.transaction { tx ->
            tx.createGroup(id)
            tx.addToGroup(id, packages)
            assertTrue(tx.group(id)!!.hasPending)
            tx.acceptCommit(id)
        }
        val welcomes = ana.outbox().filter { it.kind == OutboxKind.WELCOME }
        for (device in listOf(ben, eva)) {
            val welcome = welcomes.single { it.recipient == device.address }.body
            // An aborted join can be repeated.
            assertThrows<Abort> {
                device.transaction { tx ->
                    tx.joinGroup(welcome)
                    throw Abort()
                }
            }
            val joined = device.transaction { it.joinGroup(welcome) }
            assertEquals(ana.address, joined.inviter)
            assertEquals(3, joined.members.size)
        }
        ana.sent(ana.outbox().map { it.number })
        ana.transaction { tx -> repeat(20) { tx.encryptToGroup(id, "text $it".toByteArray()) } }
        val messages = ana.delivered()
        for (device in listOf(ben, eva)) {
            assertThrows<Abort> {
                device.transaction { tx ->
                    assertTrue(tx.decryptBatch(messages).all { it.isDelivered() })
                    throw Abort()
                }
            }
            assertTrue(device.decryptBatch(messages).outcomes.all { it.isDelivered() })
            assertEquals(List(20) { "text $it" }, device.texts())
        }
        ben.transaction { it.leaveGroup(id) }
        val proposal = ben.delivered()
        for (device in listOf(ana, eva)) {
            assertTrue(device.decryptBatch(proposal).outcomes.single().isDelivered())
        }
        val refused = assertThrows<SessionException.Send> {
            ana.transaction { it.encryptToGroup(id, byteArrayOf(1)) }
        }
        assertEquals("commit-required", refused.code)
        ana.transaction { tx ->
            tx.updateGroup(id)
            tx.acceptCommit(id)
        }
        val commit = ana.delivered()
        for (device in listOf(ben, eva)) device.decryptBatch(commit)
        assertFalse(ben.transaction { it.group(id)!!.isMember })
        assertEquals(2, eva.transaction { it.group(id)!!.members.size })
    }

    @Test
    fun `a coroutine that outlives its transaction may use the engine`() = runBlocking<Unit> {
        val (ana, ben) = scene.device("ana") to scene.device("ben")
        val ended = CompletableDeferred<Unit>()
        val late = ana.transaction {
            CoroutineScope(currentCoroutineContext() + Job()).async {
                assertThrows<SessionException.Argument> { ana.inbox() }
                ended.await()
                ana.inbox().size + ben.transaction { ana.outbox() }.size
            }.also { delay(50) }
        }
        ended.complete(Unit)
        assertEquals(0, withTimeout(10_000) { late.await() })
    }

    @Test
    fun `group ids of a wrong length are named as such`() = runBlocking<Unit> {
        val ana = scene.device("ana")
        for (len in listOf(0, 64, 1000)) {
            val refused = assertThrows<SessionException.Group> {
                ana.transaction { it.createGroup(ByteArray(len)) }
            }
            assertEquals("invalid-id", refused.code)
        }
        ana.transaction { it.createGroup(ByteArray(63)) }
    }

    @Test
    fun `half of a surrogate pair is refused`() = runBlocking<Unit> {
        val half = "\uD800"
        val (ana, ben) = scene.device("ana") to scene.device("ben")
        ana.meet(ben)
        val identity = Identity.generate()
        val to = Recipients(listOf(identity.publicIdentity()))
        for (call in listOf<suspend () -> Any?>(
            { ana.transaction { it.encrypt(DeviceAddress(half, 1u), byteArrayOf(1)) } },
            { ana.transaction { it.encryptToPerson(half, byteArrayOf(1)) } },
            { StoreSecret.passphrase(half) },
        )) {
            assertEquals("argument", assertThrows<SessionException.Argument> { call() }.code)
        }
        for (call in listOf<suspend () -> Any?>(
            { seal(byteArrayOf(1), SealOptions(identity, to, half)) },
            { PublicIdentity.parse(half) },
            { identity.lock(half) },
            { Identity.unlock(half, null) },
        )) {
            assertEquals("argument", assertThrows<EndsealException.Argument> { call() }.code)
        }
        // From the service it costs one message alone.
        val good = ana.send(ben, listOf("text")).single()
        val origin = MessageOrigin.Device(DeviceAddress(half, 1u))
        val bad = IncomingMessage("bad".toByteArray(), origin, good.body)
        val expected = MessageOutcome.Failed("malformed")
        assertEquals(expected, ben.transaction { it.decryptBatch(listOf(bad)) }.single())
        val outcomes = ben.decryptBatch(listOf(bad, good)).outcomes
        assertEquals(expected, outcomes[0])
        assertTrue(outcomes[1].isDelivered(), outcomes.toString())
    }
}
