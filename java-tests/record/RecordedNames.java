/** As {@link Recorded}; only one test runs it, so that its name is the only one of its kind. */
public class RecordedNames extends Recorded {}
