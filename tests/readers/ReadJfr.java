import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import jdk.jfr.ValueDescriptor;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordingFile;

/**
 * Prints what the JDK's own reader finds in a recording: of each type of events its label, the number of events, and
 * the sums of their numbers; and the stacks, with lines, of those that have any.
 */
public class ReadJfr {
    public static void main(String[] args) throws Exception {
        Map<String, Long> sums = new TreeMap<>();
        Map<String, Long> stacks = new TreeMap<>();
        try (RecordingFile file = new RecordingFile(Path.of(args[0]))) {
            while (file.hasMoreEvents()) {
                RecordedEvent event = file.readEvent();
                String type = event.getEventType().getName();
                sums.merge("count " + type, 1L, Long::sum);
                for (ValueDescriptor field : event.getFields()) {
                    boolean isNumber = field.getTypeName().equals("long") || field.getTypeName().equals("int");
                    if (isNumber && !field.getName().equals("startTime")) {
                        String unit = field.getContentType() == null ? "" : " in " + field.getContentType();
                        sums.merge("sum " + type + "." + field.getName() + unit, event.getLong(field.getName()), Long::sum);
                    }
                }
                if (event.getStackTrace() != null) {
                    stacks.merge("stack " + type + " " + stack(event), 1L, Long::sum);
                }
            }
            for (var type : file.readEventTypes()) {
                if (type.getName().startsWith("hprof.")) {
                    System.out.println("label " + type.getName() + " " + type.getCategoryNames() + " " + type.getLabel());
                }
            }
        }
        sums.forEach((what, sum) -> System.out.println(what + " " + sum));
        stacks.forEach((what, count) -> System.out.println(what + " " + count));
    }

    static String stack(RecordedEvent event) {
        StringBuilder text = new StringBuilder();
        for (RecordedFrame frame : event.getStackTrace().getFrames()) {
            var method = frame.getMethod();
            text.append(method.getType().getName()).append('.').append(method.getName());
            text.append(method.getDescriptor()).append(':').append(frame.getLineNumber()).append(';');
        }
        return text + (event.getStackTrace().isTruncated() ? "truncated" : "whole");
    }
}
