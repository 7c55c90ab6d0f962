package endseal.peer;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/** Speaks JSON lines over standard input and output, as docs/spec/bench-peer.md says. */
public final class Main {
    private Main() {}

    /**
     * Answers line by line until the input ends.
     *
     * @param arguments none
     * @throws IOException if the answers cannot be written
     */
    public static void main(String[] arguments) throws IOException {
        OutputStream out = new FileOutputStream(FileDescriptor.out);
        // Standard output belongs to the protocol, whatever a library has to say.
        System.setOut(System.err);
        Peer peer = new Peer();
        ObjectMapper mapper = new ObjectMapper();
        Lines lines = new Lines(System.in);
        for (Lines.Line line = lines.next(); line != null; line = lines.next()) {
            byte[] answer = mapper.writeValueAsBytes(peer.answer(line.content()));
            out.write(answer);
            out.write('\n');
            out.flush();
        }
        peer.releaseAll();
        // Threads of the library's own must not keep the process.
        System.exit(0);
    }
}
