"""A Spark job whose executors are profiled: pages are scored by a Java function, and the scores are shuffled.

    python shuffle.py --agent LIBHPROF.SO --jar RELEVANCE.JAR --profiles FOLDER [--pages N] [--master MASTER]

Each executor leaves FOLDER/executor-<number>-<process id>.hprof.gz when the job ends. Prints the number of groups,
and the number of pages in them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import LongType

# A sample per 5 ms of CPU time; one object per 64 KiB stands for the rest. Small costs in one executor may add up.
OPTIONS = "cpu=samples,interval=5,heap=sites,sample=64k,depth=64,cutoff=0,format=b,verbose=n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("agent", "jar", "profiles"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--master", default="local-cluster[2,1,1024]")
    options = parser.parse_args()
    options.profiles.mkdir(parents=True, exist_ok=True)
    # Spark replaces {{EXECUTOR_ID}} by the executor's number, and the agent %p by the process id.
    file = options.profiles.resolve() / "executor-{{EXECUTOR_ID}}-%p.hprof.gz"
    session = (
        SparkSession.builder.appName("shuffle")
        .master(options.master)
        .config("spark.jars", str(options.jar.resolve()))
        .config("spark.executor.extraJavaOptions", f"-agentpath:{options.agent.resolve()}={OPTIONS},file={file}")
        .config("spark.sql.shuffle.partitions", 8)
        .config("spark.ui.enabled", False)
        .config("spark.ui.showConsoleProgress", False)
        .getOrCreate()
    )
    session.udf.registerJavaFunction("relevance", "example.Relevance", LongType())
    pages = session.range(0, options.pages, numPartitions=8)
    scored = pages.select("id", f.expr("relevance(id)").alias("score"))
    groups = scored.groupBy(f.expr("pmod(score, 1000)").alias("group")).agg(f.count("id").alias("pages"))
    summary = groups.agg(f.count("group"), f.sum("pages")).first()
    session.stop()
    print(f"{summary[0]} groups of {summary[1]} pages")


if __name__ == "__main__":
    main()
