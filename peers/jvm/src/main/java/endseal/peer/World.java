package endseal.peer;

import com.wire.crypto.client.PreKey;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

/**
 * Two clients and backlogs between them. Every backlog begins with the same state of both.
 *
 * <p>All sessions are between the same two devices: the receiver's work and state are the same as
 * with as many senders.
 */
final class World {
    static final int CONTENT_BYTES = 100;

    private static final SecureRandom RANDOM = new SecureRandom();
    /** Where nothing has to wait for a disk. */
    private static final Path MEMORY = Path.of("/dev/shm");

    private final String key = HexFormat.of().formatHex(random(32));
    private final List<String> sessions = new ArrayList<>();
    private final List<Backlog> backlogs = new ArrayList<>();
    private final Path receiver;
    /** In memory, where the system has a folder for that. */
    private final Path sender;

    /** Messages that were sent, and those that wait for the receiver. */
    record Backlog(List<byte[]> contents, List<byte[]> messages) {}

    World(int messages, int conversations, int backlogCount) throws Exception {
        receiver = Files.createTempDirectory("endseal-core-crypto-jvm-");
        // Only what the receiver stores is measured.
        boolean inMemory = Files.isDirectory(MEMORY) && Files.isWritable(MEMORY);
        String prefix = "endseal-core-crypto-jvm-";
        sender = inMemory
                ? Files.createTempDirectory(MEMORY, prefix)
                : Files.createTempDirectory(prefix);
        try {
            establish(conversations);
            for (int i = 0; i < backlogCount; i += 1) {
                backlogs.add(seal(messages));
            }
        } catch (Exception | LinkageError error) {
            remove();
            throw error;
        }
    }

    Backlog backlog(int n) {
        return backlogs.get(n);
    }

    String session(int message) {
        return sessions.get(message % sessions.size());
    }

    /** The receiver as it was before the first message. */
    Client open() throws Exception {
        return opened(receiver, receiver);
    }

    /** The same, but it stores nothing on the disk if that can be avoided. */
    Client openInMemory() throws Exception {
        return opened(receiver, sender);
    }

    void remove() {
        for (Path folder : List.of(receiver, sender)) {
            try (Stream<Path> found = Files.walk(folder)) {
                for (Path path : found.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(path);
                }
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }
    }

    /** Sessions that have carried one message in each direction. */
    private void establish(int conversations) throws Exception {
        byte[] hello = random(16);
        try (Client to = Client.open(receiver.resolve("before"), key);
                Client from = Client.open(sender.resolve("before"), key)) {
            for (int i = 0; i < conversations; i += 1) {
                String session = "session-" + i;
                PreKey preKey = to.newPreKey(i + 1);
                to.decrypt(from.encryptWithPreKey(hello, preKey, session), session);
                from.decrypt(to.encrypt(hello, session), session);
                sessions.add(session);
            }
        }
    }

    private Backlog seal(int count) throws Exception {
        Backlog backlog = new Backlog(new ArrayList<>(), new ArrayList<>());
        try (Client from = opened(sender, sender)) {
            for (int i = 0; i < count; i += 1) {
                byte[] content = random(CONTENT_BYTES);
                backlog.contents().add(content);
                backlog.messages().add(from.encrypt(content, session(i)));
            }
        }
        return backlog;
    }

    private Client opened(Path whose, Path where) throws Exception {
        Client.putBack(whose.resolve("before"), where.resolve("now"));
        return Client.open(where.resolve("now"), key);
    }

    private static byte[] random(int count) {
        byte[] bytes = new byte[count];
        RANDOM.nextBytes(bytes);
        return bytes;
    }
}
