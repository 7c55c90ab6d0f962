package endseal.peer;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The requests of the protocol, and the one subject. */
final class Peer {
    private static final int PROTOCOL = 1;
    private static final int HANDLE_LIMIT = 256;
    private static final long ITERATION_LIMIT = 1_000_000;
    private static final long NUMBER_LIMIT = (1L << 53) - 1;
    private static final int MESSAGE_LIMIT = 200;

    private final ObjectMapper mapper =
            new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
    private final Map<Long, DecryptBatch> jobs = new HashMap<>();
    private long lastHandle;

    /** The answer to one line; null is a line that was too long to keep. */
    Map<String, Object> answer(byte[] line) {
        try {
            return served(parse(line));
        } catch (Refusal refusal) {
            return failure(refusal.errorClass(), refusal);
        } catch (Exception | LinkageError error) {
            return failure("failed", error);
        }
    }

    /** Removes what is left of all jobs. */
    void releaseAll() {
        jobs.values().forEach(DecryptBatch::release);
        jobs.clear();
    }

    private Map<String, Object> served(JsonNode request) throws Exception {
        Map<String, Object> answer = new HashMap<>();
        answer.put("ok", true);
        switch (request.path("op").asText("")) {
            case "hello" -> answer.putAll(hello(request));
            case "prepare" -> answer.put("handle", prepare(request));
            case "check" -> answer.putAll(job(request).check());
            case "run" -> answer.putAll(run(request));
            case "release" -> {
                job(request).release();
                jobs.remove(request.get("handle").longValue());
            }
            default -> throw Refusal.protocol("there is no such op");
        }
        return answer;
    }

    private Map<String, Object> hello(JsonNode request) throws Refusal {
        if (number(request.get("protocol")) != PROTOCOL) {
            throw Refusal.protocol("this peer speaks protocol " + PROTOCOL);
        }
        return Map.of(
                "protocol", PROTOCOL,
                "peer", "jvm",
                "runtime", "Java " + System.getProperty("java.runtime.version"),
                "subjects", List.of(DecryptBatch.DESCRIPTION));
    }

    private long prepare(JsonNode request) throws Exception {
        JsonNode subject = request.path("subject");
        JsonNode name = request.path("case");
        JsonNode params = request.path("params");
        if (!subject.isTextual() || !name.isTextual() || !params.isObject()) {
            throw Refusal.protocol("subject, case and params are needed");
        }
        long inputs = number(request.get("inputs"));
        Map<String, Long> numbers = new HashMap<>();
        for (Map.Entry<String, JsonNode> field : params.properties()) {
            numbers.put(field.getKey(), number(field.getValue()));
        }
        if (!subject.textValue().equals(DecryptBatch.SUBJECT)) {
            throw Refusal.unsupported("there is no such subject");
        }
        if (!name.textValue().equals(DecryptBatch.CASE)) {
            throw Refusal.unsupported("there is no such case");
        }
        if (jobs.size() >= HANDLE_LIMIT) {
            throw new IllegalStateException(HANDLE_LIMIT + " handles are in use");
        }
        DecryptBatch job = DecryptBatch.prepare(numbers, inputs);
        lastHandle += 1;
        jobs.put(lastHandle, job);
        return lastHandle;
    }

    private Map<String, Object> run(JsonNode request) throws Exception {
        DecryptBatch found = job(request);
        long iterations = number(request.get("iterations"));
        if (iterations < 1 || iterations > ITERATION_LIMIT) {
            throw Refusal.protocol("iterations must be from 1 to " + ITERATION_LIMIT);
        }
        return found.run(iterations);
    }

    private DecryptBatch job(JsonNode request) throws Refusal {
        DecryptBatch found = jobs.get(number(request.get("handle")));
        if (found == null) {
            throw Refusal.protocol("there is no such handle");
        }
        return found;
    }

    private static long number(JsonNode node) throws Refusal {
        if (node == null || !node.isIntegralNumber() || !node.canConvertToLong()
                || node.longValue() < 0 || node.longValue() > NUMBER_LIMIT) {
            throw Refusal.protocol("a number below 2^53 is missing or is none");
        }
        return node.longValue();
    }

    private JsonNode parse(byte[] line) throws Refusal {
        if (line == null) {
            throw Refusal.protocol("the line is longer than 1 MiB");
        }
        JsonNode request;
        try {
            var text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(line));
            request = mapper.readTree(text.toString());
        } catch (CharacterCodingException | JsonProcessingException error) {
            throw Refusal.protocol("the line is not JSON");
        }
        if (!request.isObject()) {
            throw Refusal.protocol("the request is not an object");
        }
        return request;
    }

    private static Map<String, Object> failure(String errorClass, Throwable error) {
        String text = String.valueOf(error.getMessage()).strip().replaceAll("\\s+", " ");
        // Errors of a library may say nothing but their name.
        String name = error.getClass().getSimpleName();
        String told = error instanceof Refusal ? text : name + ": " + text;
        String message = told.substring(0, Math.min(told.length(), MESSAGE_LIMIT));
        return Map.of("ok", false, "error", errorClass, "message", message);
    }
}
