import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs the tests of a class several times in one VM: Suite CLASS TIMES [PARAMETER=VALUE]... */
public class Suite {
    public static void main(String[] args) {
        Map<String, String> parameters = new HashMap<>();
        for (int i = 2; i < args.length; i++) {
            parameters.put(args[i].split("=")[0], args[i].split("=")[1]);
        }
        Launcher launcher = LauncherFactory.create();
        AtomicInteger passed = new AtomicInteger();
        AtomicInteger failed = new AtomicInteger();
        TestExecutionListener told = new TestExecutionListener() {
            @Override
            public void executionFinished(TestIdentifier test, TestExecutionResult result) {
                if (result.getStatus() != TestExecutionResult.Status.SUCCESSFUL) {
                    failed.incrementAndGet();
                    Throwable error = result.getThrowable().orElseThrow();
                    System.out.println("FAILED " + test.getDisplayName() + ": " + error.getMessage());
                    for (Throwable note : error.getSuppressed()) {
                        System.out.println("note: " + note.getMessage());
                    }
                } else if (test.isTest()) {
                    passed.incrementAndGet();
                }
            }
        };
        for (int i = 0; i < Integer.parseInt(args[1]); i++) {
            LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                    .selectors(DiscoverySelectors.selectClass(args[0]))
                    .configurationParameters(parameters)
                    .build();
            launcher.execute(request, told);
        }
        System.out.println(passed + " passed, " + failed + " failed");
    }
}
