#!/usr/bin/env python3
"""Writes Java sources for a compiler to chew on, for machines that cannot fetch real ones.

    scripts/lib/generate-sources.py DIRECTORY [COUNT]

COUNT files (400 unless told), the same bytes each time: generic classes, lambdas, inner classes, switches and string
code that refer to one another. They compile with JDK 11 and newer.
"""

import pathlib
import sys

TEMPLATE = """package generated.p{package};

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Number {n} of the generated classes. */
public class C{n}<K extends Comparable<K>, V> {{
    private final Map<K, List<V>> values = new HashMap<>();
    private int changes;

    public C{n}<K, V> add(K key, V value) {{
        values.computeIfAbsent(key, k -> new ArrayList<>()).add(value);
        changes++;
        return this;
    }}

    public <R extends Comparable<R>> Map<R, Long> count(Function<? super V, ? extends R> by) {{
        return values.values().stream().flatMap(List::stream)
            .collect(Collectors.groupingBy(v -> (R) by.apply(v), Collectors.counting()));
    }}

    public List<K> keys() {{
        return values.entrySet().stream().filter(e -> !e.getValue().isEmpty()).map(Map.Entry::getKey).sorted()
            .collect(Collectors.toList());
    }}
{methods}
    /** Walks over the values of one key. */
    public class Cursor implements AutoCloseable {{
        private final List<V> of;
        private int at;

        Cursor(K key) {{ of = values.getOrDefault(key, List.of()); }}

        public V next() {{ return at < of.size() ? of.get(at++) : null; }}

        @Override public void close() {{ at = of.size(); }}
    }}

    public static String describe(C{n}<String, Integer> of) {{
        StringBuilder text = new StringBuilder("C{n}");
        for (String key : of.keys()) {{
            try (C{n}<String, Integer>.Cursor cursor = of.new Cursor(key)) {{
                for (Integer v = cursor.next(); v != null; v = cursor.next()) text.append(key).append('=').append(v);
            }}
        }}
        return text.append({other}).toString();
    }}
}}
"""

METHOD = """
    public static long mix{m}(long a, int b) {{
        switch ((int) (a % {cases})) {{
            case 0: return a * {n} + b;
            case 1: {{ int[] t = {{b, b + {m}, {n}}}; return t[(int) (a & 1)] ^ a; }}
            case 2: for (int i = 0; i < b; i++) a += i % 3 == 0 ? i : -i; return a;
            default: return a == {n}L ? mix{m}(a - 1, b / 2) : Long.hashCode(a) + String.valueOf(b).length();
        }}
    }}
"""


def main() -> None:
    directory = pathlib.Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    for n in range(count):
        package = n % 20
        methods = "".join(METHOD.format(m=m, n=n, cases=3 + m % 4) for m in range(25))
        previous = n - 20
        other = f"C{previous}.describe(new C{previous}<>())" if previous >= 0 else '""'
        path = directory / "generated" / f"p{package}" / f"C{n}.java"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEMPLATE.format(n=n, package=package, methods=methods, other=other), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main()
