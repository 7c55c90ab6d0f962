package endseal.peer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Drives the peer as the harness does. */
final class PeerTest {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final String GOOD = "{'op':'prepare','subject':'core-crypto-jvm',"
            + "'case':'decrypt_batch','inputs':2,'params':{'messages':9,'conversations':2,"
            + "'per_commit':1,'engine':1,'threads':1,'members':2}}";

    /** A process of the peer; what it leaves in the folder for temporary files can be looked at. */
    private record Started(Process process, BufferedReader answers) implements AutoCloseable {
        static Started in(Path temporary) throws IOException {
            String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
            Process process = new ProcessBuilder(
                    java, "-Djava.io.tmpdir=" + temporary, "-cp",
                    System.getProperty("java.class.path"), Main.class.getName())
                    .redirectError(ProcessBuilder.Redirect.INHERIT).start();
            return new Started(process, process.inputReader(StandardCharsets.UTF_8));
        }

        JsonNode raw(byte[] line) throws IOException {
            process.getOutputStream().write(line);
            process.getOutputStream().flush();
            return MAPPER.readTree(answers.readLine());
        }

        /** Quotes are single ones, for reading. */
        JsonNode ask(String request) throws IOException {
            return raw((request.replace('\'', '"') + "\n").getBytes(StandardCharsets.UTF_8));
        }

        int end(String rest) throws Exception {
            process.getOutputStream().write(rest.getBytes(StandardCharsets.UTF_8));
            process.getOutputStream().close();
            assertNull(answers.readLine(), "what follows the last line end is not answered");
            return process.waitFor();
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }

    @TempDir
    private Path temporary;

    @Test
    void backlogs_are_checked_run_and_released() throws Exception {
        try (Started peer = Started.in(temporary)) {
            JsonNode hello = peer.ask("{'op':'hello','protocol':1}");
            JsonNode subject = hello.at("/subjects/0");
            assertEquals("core-crypto-jvm", subject.path("subject").asText());
            assertEquals("1.0.2", subject.at("/versions/core-crypto-jvm").asText());
            for (String change : List.of("'messages':9", "'messages':1", "'messages':3")) {
                JsonNode prepared = peer.ask(GOOD.replace("'messages':9", change));
                String handle = ",'handle':" + prepared.path("handle").asLong() + "}";
                JsonNode check = peer.ask("{'op':'check'" + handle);
                String at = change + ": " + check;
                assertTrue(check.path("round_trip").asBoolean(), at);
                assertTrue(check.path("tamper_refused").asBoolean(), at);
                assertEquals(207, check.path("sealed_bytes").asInt(), at);
                assertTrue(check.at("/figures/state_bytes/0").asLong() > 4096, at);
                // More iterations than there are backlogs: each finds the receiver as it was.
                for (int iterations : new int[] {1, 3}) {
                    JsonNode run = peer.ask("{'op':'run','iterations':" + iterations + handle);
                    assertEquals(iterations, run.path("iterations").asInt(), run.toString());
                    assertTrue(run.path("wall_ns").asLong() > 0, run.toString());
                    assertTrue(run.path("cpu_ns").asLong() > 0, run.toString());
                }
                assertEquals("{\"ok\":true}", peer.ask("{'op':'release'" + handle).toString());
                assertEquals("protocol", error(peer.ask("{'op':'check'" + handle)));
            }
            assertTrue(peer.ask(GOOD).path("ok").asBoolean(), "one that is not released");
            assertEquals(0, peer.end("{\"op\":\"hello\",\"protocol\":1}"));
        }
        try (Stream<Path> left = Files.list(temporary)) {
            List<Path> worlds = left.filter(path -> path.toString().contains("endseal")).toList();
            assertEquals(List.of(), worlds);
        }
    }

    @Test
    void what_the_subject_has_not_is_unsupported() throws Exception {
        try (Started peer = Started.in(temporary)) {
            for (String[] change : new String[][] {
                {"core-crypto-jvm", "core-crypto"}, {"decrypt_batch", "seal"},
                {"'engine':1", "'engine':2"}, {"'engine':1,", ""},
                {"'engine':1", "'engine':3"},
                {"'per_commit':1", "'per_commit':2"},
                {"'per_commit':1", "'per_commit':0"}, {"'per_commit':1,", ""},
                {"'threads':1", "'threads':2"}, {"'members':2", "'members':1"},
                {"'members':2", "'members':3"}, {"'messages':9", "'messages':1000000000"},
                {"'conversations':2", "'conversations':0"},
                {"'threads':1", "'threads':1,'bytes':1"},
                {"'threads':1", "'threads':1,'inputs':1"}, {"'inputs':2", "'inputs':0"},
                {"'inputs':2", "'inputs':100000"},
            }) {
                assertTrue(GOOD.contains(change[0]), change[0]);
                JsonNode answer = peer.ask(GOOD.replace(change[0], change[1]));
                assertEquals("unsupported", error(answer), change[1]);
            }
            assertTrue(peer.ask(GOOD).path("ok").asBoolean());
            assertEquals(0, peer.end("x".repeat(3 << 20)));
        }
    }

    @Test
    void garbage_is_a_protocol_error_and_the_peer_goes_on() throws Exception {
        try (Started peer = Started.in(temporary)) {
            for (String line : List.of(
                    "", "nonsense", "{", "null", "[]", "7", "{}", "{} {}", "{'op':7}", "\u2603",
                    "{'op':'toString'}", "{'op':'hello','protocol':2}", "{'op':'hello'}",
                    "{'op':'run','handle':1,'iterations':1}", "{'op':'check'}",
                    "{'op':'release','handle':'1'}", "'" + "x".repeat(3 << 20) + "'",
                    "[".repeat(100_000), GOOD.replace("'inputs':2", "'inputs':'2'"),
                    GOOD.replace("'inputs':2", "'inputs':1.5"),
                    GOOD.replace("'members':2", "'members':null"),
                    GOOD.replace("'members':2", "'members':-1"),
                    GOOD.replace("'members':2", "'members':9007199254740992"),
                    GOOD.replace("'engine':1", "'engine':'pairwise'"), GOOD.replace("'params'", "'parameters'"))) {
                JsonNode answer = peer.ask(line);
                String at = line.substring(0, Math.min(60, line.length()));
                assertEquals("protocol", error(answer), at);
                String message = answer.path("message").asText();
                assertTrue(!message.isEmpty() && message.length() <= 200, at);
            }
            assertEquals("protocol", error(peer.raw(new byte[] {(byte) 0xff, (byte) 0xfe, 0, 10})));
            JsonNode prepared = peer.ask(GOOD);
            String handle = ",'handle':" + prepared.path("handle").asLong() + "}";
            for (String iterations : List.of("0", "-1", "1.5", "'1'", "null", "9007199254740992")) {
                JsonNode run = peer.ask("{'op':'run','iterations':" + iterations + handle);
                assertEquals("protocol", error(run), iterations);
            }
            assertTrue(peer.ask("{'op':'check'" + handle).path("ok").asBoolean());
            assertEquals(0, peer.end(""));
        }
    }

    @Test
    void a_peer_keeps_64_handles() throws Exception {
        try (Started peer = Started.in(temporary)) {
            String small = GOOD.replace("'messages':9", "'messages':1")
                    .replace("'inputs':2", "'inputs':1");
            for (int handle = 1; handle <= 64; handle += 1) {
                assertEquals(handle, peer.ask(small).path("handle").asInt());
            }
            for (int handle : new int[] {1, 64}) {
                JsonNode check = peer.ask("{'op':'check','handle':" + handle + "}");
                assertTrue(check.path("ok").asBoolean(), check.toString());
            }
            assertEquals(0, peer.end(""));
        }
    }

    private static String error(JsonNode answer) {
        return answer.path("ok").asBoolean() ? "none" : answer.path("error").asText();
    }
}
