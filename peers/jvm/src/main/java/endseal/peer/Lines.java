package endseal.peer;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;

/** The lines of a stream, in bounded memory. What follows the last line end is no line. */
final class Lines {
    private static final int LINE_LIMIT = 1 << 20;
    private static final int END = -1;

    private final InputStream stream;
    private final byte[] chunk = new byte[1 << 16];
    private int next;
    private int filled;

    Lines(InputStream stream) {
        this.stream = stream;
    }

    /** A line without its end; {@code content} is null if it was too long to keep. */
    record Line(byte[] content) {}

    /** The next line, or null at the end of the stream. */
    Line next() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        boolean tooLong = false;
        for (int read = read(); read != END; read = read()) {
            if (read == '\n') {
                return new Line(tooLong ? null : line.toByteArray());
            }
            // The line end is one of the bytes that count.
            tooLong = tooLong || line.size() >= LINE_LIMIT - 1;
            if (!tooLong) {
                line.write(read);
            }
        }
        return null;
    }

    private int read() throws IOException {
        if (next == filled) {
            next = 0;
            filled = stream.read(chunk);
            if (filled <= 0) {
                filled = 0;
                return END;
            }
        }
        next += 1;
        return chunk[next - 1] & 0xff;
    }
}
