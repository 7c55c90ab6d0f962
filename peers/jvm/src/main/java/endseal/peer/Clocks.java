package endseal.peer;

import com.sun.jna.Native;
import com.sun.jna.Platform;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;

/** CPU time of this process, and the bytes that it has written to storage. */
final class Clocks {
    private static final String STORAGE_COUNT = "write_bytes: ";

    static {
        Native.register(Clocks.class, Platform.C_LIBRARY_NAME);
    }

    private Clocks() {}

    /** CPU time of all threads in ns (POSIX, clock_gettime). Java's own has steps of 10 ms. */
    static long cpu() {
        long[] time = new long[2]; // struct timespec, where time_t and long have 64 bits
        int clock = Platform.isMac() ? 12 : 2; // CLOCK_PROCESS_CPUTIME_ID
        if (clock_gettime(clock, time) != 0) {
            throw new IllegalStateException("there is no clock for the CPU time of a process");
        }
        return time[0] * 1_000_000_000 + time[1];
    }

    /** Bytes that were given to the kernel for storage, where it counts them. */
    static OptionalLong storageBytes() {
        try {
            return Files.readAllLines(Path.of("/proc/self/io")).stream()
                    .filter(line -> line.startsWith(STORAGE_COUNT))
                    .mapToLong(line -> Long.parseLong(line.substring(STORAGE_COUNT.length())))
                    .findFirst();
        } catch (IOException error) {
            return OptionalLong.empty();
        }
    }

    private static native int clock_gettime(int clock, long[] time);
}
