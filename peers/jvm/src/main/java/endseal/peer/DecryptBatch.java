package endseal.peer;

import com.wire.crypto.client.CoreCryptoCentral;
import java.net.URL;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The case {@code decrypt_batch} of the suite {@code sessions}, with what CoreCrypto was before it
 * had transactions: each message is a call, which stores the session before it returns.
 *
 * <p>In the clock: {@code ProteusClient.decrypt} for each message, which asks whether there is such
 * a session, decrypts and saves. Not in the clock: opening the database, and closing it, which puts
 * the pages of the journal into the file.
 *
 * <p>The database is SQLCipher with a write-ahead log; {@code synchronous} is left as it is, which
 * is {@code FULL}: each write is on the disk before it returns.
 */
final class DecryptBatch {
    static final String SUBJECT = "core-crypto-jvm";
    static final String CASE = "decrypt_batch";
    static final Map<String, Object> DESCRIPTION = Map.of(
            "subject", SUBJECT,
            "about",
            "CoreCrypto before it had transactions: an awaited call for each message, which saves"
                    + " the session; SQLCipher; keeps the state of sessions, not the contents;"
                    + " pairwise is Proteus",
            "versions", Map.of("core-crypto-jvm", version()),
            "settings",
            "https://github.com/wireapp/core-crypto/blob/v1.0.2/crypto-ffi/bindings/jvm/src/main"
                    + "/kotlin/com/wire/crypto/client/ProteusClient.kt",
            "properties",
            List.of(
                    "confidential", "authenticated", "sender", "insider", "sender-hidden",
                    "recipients-hidden", "durable"));

    /** The most that each parameter may be; each is 1 at least. */
    private static final Map<String, Long> LIMITS = Map.of(
            "messages", 100_000L,
            "conversations", 1000L,
            "per_commit", 1L,
            "engine", 2L,
            "threads", 1L,
            "members", 2L,
            "inputs", 4096L);
    /** Some 200 MB. */
    private static final long MESSAGE_LIMIT = 1 << 19;
    /** The number of the pairwise engine in the protocol; 2 is MLS. */
    private static final long PAIRWISE = 1;
    /** The bit that is changed by way of trial is in the last byte but so many. */
    private static final int TAMPERED_FROM_END = 16;

    private final World world;
    private final int inputs;
    private long next;

    private DecryptBatch(World world, int inputs) {
        this.world = world;
        this.inputs = inputs;
    }

    static DecryptBatch prepare(Map<String, Long> params, long inputs) throws Exception {
        for (String name : params.keySet()) {
            if (!LIMITS.containsKey(name) || name.equals("inputs")) {
                throw Refusal.unsupported("this case has no parameter " + name);
            }
        }
        Map<String, Long> given = new HashMap<>(params);
        given.put("inputs", inputs);
        for (Map.Entry<String, Long> limit : LIMITS.entrySet()) {
            long value = given.getOrDefault(limit.getKey(), 0L);
            if (value < 1 || value > limit.getValue()) {
                String range = " must be from 1 to " + limit.getValue();
                throw Refusal.unsupported(limit.getKey() + range);
            }
        }
        // The limit of `per_commit` is 1, because there are no transactions.
        if (given.get("engine") != PAIRWISE || given.get("members") != 2) {
            throw Refusal.unsupported("engine must be pairwise, and members 2");
        }
        if (given.get("messages") * inputs > MESSAGE_LIMIT) {
            throw Refusal.unsupported("these are too many messages");
        }
        int messages = given.get("messages").intValue();
        int conversations = given.get("conversations").intValue();
        return new DecryptBatch(new World(messages, conversations, (int) inputs), (int) inputs);
    }

    Map<String, Object> run(long iterations) throws Exception {
        long wall = 0;
        long cpu = 0;
        for (long i = 0; i < iterations; i += 1) {
            World.Backlog backlog = world.backlog((int) (next % inputs));
            next += 1;
            try (Client receiver = world.open()) {
                long cpuBefore = Clocks.cpu();
                long start = System.nanoTime();
                List<byte[]> contents = decrypt(receiver, backlog.messages());
                wall += System.nanoTime() - start;
                cpu += Clocks.cpu() - cpuBefore;
                if (contents.stream().anyMatch(content -> content.length != World.CONTENT_BYTES)) {
                    throw new IllegalStateException("a message came out with another length");
                }
            }
        }
        return Map.of("iterations", iterations, "wall_ns", wall, "cpu_ns", cpu);
    }

    Map<String, Object> check() throws Exception {
        World.Backlog backlog = world.backlog(0);
        Map<String, Object> figures = new HashMap<>();
        boolean same = true;
        try (Client receiver = world.open()) {
            OptionalLong before = Clocks.storageBytes();
            List<byte[]> opened = decrypt(receiver, backlog.messages());
            OptionalLong after = Clocks.storageBytes();
            if (before.isPresent() && after.isPresent()) {
                figures.put("bytes_written", List.of(after.getAsLong() - before.getAsLong()));
            }
            figures.put("state_bytes", List.of(receiver.bytes()));
            for (int i = 0; i < opened.size(); i += 1) {
                same &= Arrays.equals(opened.get(i), backlog.contents().get(i));
            }
        }
        return Map.of(
                "round_trip", same,
                "tamper_refused", refusesOne(backlog),
                "sealed_bytes", backlog.messages().get(0).length,
                "figures", figures);
    }

    void release() {
        world.remove();
    }

    private List<byte[]> decrypt(Client receiver, List<byte[]> messages) throws Exception {
        List<byte[]> contents = new ArrayList<>(messages.size());
        for (int i = 0; i < messages.size(); i += 1) {
            contents.add(receiver.decrypt(messages.get(i), world.session(i)));
        }
        return contents;
    }

    /** Returns true if only the message in the middle is refused when one bit of it is changed. */
    private boolean refusesOne(World.Backlog backlog) throws Exception {
        int count = backlog.messages().size();
        int middle = count / 2;
        byte[] changed = backlog.messages().get(middle).clone();
        changed[changed.length - 1 - TAMPERED_FROM_END] ^= 1;
        boolean good = true;
        // Not where a disk has to be waited for: `check` has as much time as a run.
        try (Client receiver = world.openInMemory()) {
            for (int i = 0; i < count; i += 1) {
                byte[] message = i == middle ? changed : backlog.messages().get(i);
                byte[] opened;
                try {
                    opened = receiver.decrypt(message, world.session(i));
                } catch (Exception refused) {
                    opened = null;
                }
                byte[] expected = i == middle ? null : backlog.contents().get(i);
                good &= Arrays.equals(opened, expected);
            }
        }
        return good;
    }

    /** The version of the library that was found, which is in the name of its archive. */
    private static String version() {
        URL archive = CoreCryptoCentral.class.getProtectionDomain().getCodeSource().getLocation();
        Matcher name = Pattern.compile("core-crypto-jvm-([^/]+)\\.jar$").matcher(archive.getPath());
        return name.find() ? name.group(1) : "unknown";
    }
}
