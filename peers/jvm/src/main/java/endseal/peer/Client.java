package endseal.peer;

import com.wire.crypto.client.CoreCryptoCentral;
import com.wire.crypto.client.PreKey;
import com.wire.crypto.client.ProteusClient;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Set;
import kotlin.coroutines.Continuation;
import kotlin.coroutines.EmptyCoroutineContext;
import kotlinx.coroutines.BuildersKt;

/** CoreCrypto over a folder, opened and closed. Who makes a call also awaits it. */
final class Client implements AutoCloseable {
    /** SQLite's files, each the name of the first with one of these at its end. */
    private static final List<String> FILES = List.of("", "-wal", "-shm");
    private static final String STORE = "keystore";
    /** Kotlin's name of `CoreCryptoCentral(rootDir, databaseKey)`, which Java cannot spell. */
    private static final String OPEN = "invoke-qsAK4Z8";

    private final Path folder;
    private final CoreCryptoCentral central;
    private final ProteusClient proteus;

    private Client(Path folder, CoreCryptoCentral central, ProteusClient proteus) {
        this.folder = folder;
        this.central = central;
        this.proteus = proteus;
    }

    static Client open(Path folder, String key) throws Exception {
        CoreCryptoCentral.Companion companion = CoreCryptoCentral.Companion;
        Method open = companion.getClass()
                .getMethod(OPEN, String.class, String.class, Set.class, Continuation.class);
        CoreCryptoCentral central = await(continuation ->
                open.invoke(companion, folder.toString(), key, Set.of(), continuation));
        return new Client(folder, central, await(central::proteusClient));
    }

    PreKey newPreKey(int id) throws Exception {
        List<PreKey> keys = await(continuation -> proteus.newPreKeys(id, 1, continuation));
        return keys.get(0);
    }

    byte[] encryptWithPreKey(byte[] content, PreKey key, String session) throws Exception {
        return await(continuation ->
                proteus.encryptWithPreKey(content, key, session, continuation));
    }

    byte[] encrypt(byte[] content, String session) throws Exception {
        return await(continuation -> proteus.encrypt(content, session, continuation));
    }

    byte[] decrypt(byte[] message, String session) throws Exception {
        return await(continuation -> proteus.decrypt(message, session, continuation));
    }

    /** Returns the total size of the client's files in bytes. */
    long bytes() throws IOException {
        long sum = 0;
        for (String end : FILES) {
            try {
                sum += Files.size(folder.resolve(STORE + end));
            } catch (NoSuchFileException absent) {
                // Not each of them is there at all times.
            }
        }
        return sum;
    }

    /** Gives the database up, so that SQLite puts the pages of the journal into its file. */
    @Override
    public void close() throws IOException {
        try {
            await(central::close);
        } catch (Exception error) {
            throw new IOException("it could not be closed", error);
        }
        if (Files.exists(folder.resolve(STORE + "-wal"))) {
            throw new IOException("something still holds the database open");
        }
    }

    /** Puts the database of a closed client in the place of another one, down to the disk. */
    static void putBack(Path original, Path folder) throws IOException {
        Files.createDirectories(folder);
        for (String end : FILES) {
            Files.deleteIfExists(folder.resolve(STORE + end));
        }
        Path copy = folder.resolve(STORE);
        Files.copy(original.resolve(STORE), copy);
        // Or else the first synchronisation under the clock would write it.
        try (FileChannel file = FileChannel.open(copy, StandardOpenOption.WRITE)) {
            file.force(true);
        }
    }

    /** A call of a suspending function. */
    private interface Call {
        Object with(Continuation<? super Object> continuation) throws Exception;
    }

    /** The result of a call, of the type that the function has in Kotlin. */
    @SuppressWarnings("unchecked")
    private static <T> T await(Call call) throws Exception {
        return (T) BuildersKt.<Object>runBlocking(
                EmptyCoroutineContext.INSTANCE, (scope, continuation) -> {
                    try {
                        return call.with(continuation);
                    } catch (RuntimeException error) {
                        throw error;
                    } catch (Exception error) {
                        throw new IllegalStateException(error.getMessage(), error);
                    }
                });
    }
}
