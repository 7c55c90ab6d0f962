package endseal.peer;

/** A request that is not served, and the class of the answer. */
final class Refusal extends Exception {
    private static final long serialVersionUID = 1;

    private final String errorClass;

    private Refusal(String errorClass, String message) {
        super(message);
        this.errorClass = errorClass;
    }

    /** The request is not understood. */
    static Refusal protocol(String message) {
        return new Refusal("protocol", message);
    }

    /** The subject has no such case, or not with these parameters. */
    static Refusal unsupported(String message) {
        return new Refusal("unsupported", message);
    }

    String errorClass() {
        return errorClass;
    }
}
