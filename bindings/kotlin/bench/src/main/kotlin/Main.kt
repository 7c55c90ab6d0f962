import java.io.File
import java.nio.file.Path
import java.util.Random
import kotlinx.coroutines.runBlocking

/** Backlogs of the published baseline. */
private val SCENARIOS = listOf(2000 to 1, 1000 to 5, 5000 to 6)
private const val WARM_UP = 10
private const val ROUNDS = 20

/** Subjects that wait for the disk at each message take part in one of so many rounds. */
private const val ROUNDS_OF_EACH = 10

/** Times all subjects in shuffled rounds: `FOLDER PROGRAM` prints a line for each time. */
fun main(arguments: Array<String>) = runBlocking {
    val (folder, program) = arguments
    val random = Random(1)
    for ((messages, conversations) in SCENARIOS) {
        val name = "$messages-$conversations"
        val place = { library: String -> Path.of(folder, "$library-$name") }
        val ours = Endseal.prepare(place("endseal"), messages, conversations)
        val theirs = CoreCrypto.prepare(place("core-crypto"), messages, conversations)
        val subjects = mutableListOf<Pair<String, suspend () -> Long>>(
            "endseal\teach" to { ours.each() },
            "endseal\tall" to { ours.all() },
            "core-crypto-jvm\teach" to { theirs.each() },
            "endseal in Rust\tall" to { inRust(program, ours) },
        )
        for (round in -WARM_UP..<ROUNDS) {
            subjects.shuffle(random)
            for ((subject, run) in subjects) {
                val isDue = round >= 0 && round % ROUNDS_OF_EACH == 0
                if (subject.endsWith("each") && !isDue) continue
                val nanoseconds = run()
                if (round >= 0) println("$messages\t$conversations\t$subject\t$nanoseconds")
            }
        }
    }
}

private fun inRust(program: String, ours: Endseal): Long {
    val started = ProcessBuilder(program, "${ours.copy()}", "${ours.file}")
        .redirectError(ProcessBuilder.Redirect.INHERIT).start()
    val answer = started.inputReader().readText()
    check(started.waitFor() == 0)
    return answer.trim().toLong()
}

/** Copies a folder in the place of another one, down to the disk. */
fun copy(from: Path, to: Path) {
    to.toFile().deleteRecursively()
    check(from.toFile().copyRecursively(to.toFile()))
    val files = to.toFile().walk().filter(File::isFile)
    for (file in files) java.io.RandomAccessFile(file, "rw").use { it.fd.sync() }
}

/** Time of a call in ns. */
inline fun timed(call: () -> Unit): Long {
    val start = System.nanoTime()
    call()
    return System.nanoTime() - start
}
