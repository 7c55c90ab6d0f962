package endseal

import java.lang.reflect.Modifier
import java.nio.file.Path
import kotlin.io.path.extension
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.nameWithoutExtension
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** Fields of data classes that may be in logs. All other bytes and texts may not. */
private val PUBLIC = setOf("id", "messageId", "body", "identity", "context", "code")

class ShownTest {
    /** The data classes of the package, by the functions that Kotlin gives them. */
    private fun dataClasses(): List<Class<*>> {
        val classes = Path.of(Engine::class.java.protectionDomain.codeSource.location.toURI())
        return classes.resolve("endseal").listDirectoryEntries()
            .filter { it.extension == "class" }
            .map { Class.forName("endseal.${it.nameWithoutExtension}") }
            .filter { type -> type.declaredMethods.any { it.name.startsWith("component1") } }
    }

    @Test
    fun `data classes do not show contents`() {
        val unsafe = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe")
            .apply { isAccessible = true }.get(null) as sun.misc.Unsafe
        val secret = "QX secret".toByteArray()
        val shown = listOf(secret.decodeToString(), "81, 88, 32", "51582")
        val hidden = mutableSetOf<String>()
        val types = dataClasses()
        for (type in types) {
            for (field in type.declaredFields.filterNot { Modifier.isStatic(it.modifiers) }) {
                if (field.name in PUBLIC) continue
                val value: Any = when (field.type) {
                    ByteArray::class.java -> secret
                    String::class.java -> secret.decodeToString()
                    else -> continue
                }
                val one = unsafe.allocateInstance(type)
                field.apply { isAccessible = true }.set(one, value)
                val text = one.toString()
                assertFalse(shown.any { it in text }, "${type.simpleName}.${field.name}: $text")
                assertTrue("${field.name}=9 bytes" in text, text)
                hidden.add("${type.simpleName}.${field.name}")
            }
        }
        assertTrue(types.size >= 20, "$types")
        assertEquals(setOf("InboxMessage.plaintext", "OpenedContent.content"), hidden)
    }

    @Test
    fun `data classes show the rest`() {
        val address = DeviceAddress("endseal1", 2u)
        val message = InboxMessage(
            3u, ConversationId.Group(byteArrayOf(4)), address, InboxKind.TEXT, byteArrayOf(5, 6),
            ByteArray(7),
        )
        val text = "InboxMessage(number=3, conversation=Group(id=[4]), sender=DeviceAddress(" +
            "identity=endseal1, device=2), kind=TEXT, id=[5, 6], plaintext=7 bytes)"
        assertEquals(text, message.toString())
    }
}
