import java.io.File;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Future;
import org.openjdk.jmc.common.IMCStackTrace;
import org.openjdk.jmc.common.item.Aggregators;
import org.openjdk.jmc.common.item.IItem;
import org.openjdk.jmc.common.item.IItemCollection;
import org.openjdk.jmc.common.item.IItemIterable;
import org.openjdk.jmc.common.item.ItemFilters;
import org.openjdk.jmc.common.unit.IQuantity;
import org.openjdk.jmc.flightrecorder.JfrAttributes;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;
import org.openjdk.jmc.flightrecorder.jdk.JdkAttributes;
import org.openjdk.jmc.flightrecorder.jdk.JdkTypeIDs;
import org.openjdk.jmc.flightrecorder.rules.IRule;
import org.openjdk.jmc.flightrecorder.rules.IResult;
import org.openjdk.jmc.flightrecorder.rules.RuleRegistry;
import org.openjdk.jmc.flightrecorder.rules.util.RulesToolkit;

/** Loads a recording with the parser of JDK Mission Control, applies its rules, and prints the events that it knows. */
public class JmcRules {
    public static void main(String[] args) throws Exception {
        IItemCollection items = JfrLoaderToolkit.loadEvents(new File(args[0]));
        Map<String, long[]> counts = new TreeMap<>();
        for (IItemIterable of : items) {
            long[] count = counts.computeIfAbsent(of.getType().getIdentifier(), type -> new long[2]);
            var stack = JfrAttributes.EVENT_STACKTRACE.getAccessor(of.getType());
            for (IItem item : of) {
                count[0]++;
                IMCStackTrace trace = stack == null ? null : stack.getMember(item);
                count[1] += trace == null ? 0 : trace.getFrames().size();
            }
        }
        counts.forEach((type, count) -> System.out.println("events " + type + " " + count[0] + " frames " + count[1]));
        IQuantity weight = items.apply(ItemFilters.type(JdkTypeIDs.OBJ_ALLOC_SAMPLE))
                .getAggregate(Aggregators.sum(JdkAttributes.SAMPLE_WEIGHT));
        System.out.println("weight " + (weight == null ? 0 : weight.longValue()));
        Map<IRule, Future<IResult>> results = RulesToolkit.evaluateParallel(RuleRegistry.getRules(), items, null, 1);
        for (var result : results.entrySet()) {
            // Fails if the rule did.
            System.out.println("rule " + result.getKey().getId() + " " + result.getValue().get().getSeverity());
        }
        System.out.println("rules " + results.size());
    }
}
