import java.io.File;

/**
 * Has classes with code and without, says `ready`, and ends, with `end`, when there is a file `end` in the working folder.
 *
 * Truth: of the classes whose names begin with `Touched$`, `Code` and `Default` have a method with code; `Empty` and
 * `Promise` have none. `Bystander` is none of these classes.
 */
public class Touched {
    static class Code {
        int calls;

        void call() {
            calls++;
        }
    }

    interface Default {
        default int one() {
            return 1;
        }
    }

    interface Empty {}

    interface Promise extends Empty {
        int kept();
    }

    public static void main(String[] args) throws Exception {
        Code code = new Code();
        Bystander bystander = new Bystander();
        Object[] all = {new Default() {}, (Promise) () -> 2};
        System.out.println("ready");
        while (!new File("end").exists()) {
            code.call();
            bystander.call();
            Thread.sleep(5);
        }
        System.out.println("end" + all.length / 3);
    }
}

class Bystander {
    int calls;

    void call() {
        calls++;
    }
}
