# shellcheck shell=bash
# What the scripts that test on foreign platforms share.

# Every kind of measurement and both ways to begin, with the default collector. `test_smoke` puts a JVM's version for XX.
smoke_tests=(
    sites::exact::every_allocation_is_counted_on_every_collector_of_every_jvm::jdk_XX::g1
    sites::exact::live_means_live_on_every_collector_of_every_jvm::jdk_XX::g1
    sites::binary::the_checker_counts_the_records::jdk_XX
    sites::programs::the_vms_own_checks_find_nothing::jdk_XX
    stacks::stacks_walked_over_are_those_of_the_vm::jdk_XX
    stacks::stacks_of_virtual_threads_are_those_of_the_vm::jdk_XX
    stacks::each_way_to_take_stacks_gives_the_same_sites::jdk_XX
    dump::graph::everything_in_the_graph_is_found_with_its_value::jdk_XX::g1
    dump::walk::everything_in_the_graph_is_found_with_its_value::jdk_XX::g1
    dump::traces::objects_know_where_they_were_made_with_every_collector::jdk_XX::g1
    samples::threads_are_charged_for_the_cpu_time_they_used::jdk_XX
    samples::two_lines_of_a_method_are_two_rows_and_without_line_numbers_one::jdk_XX
    async_samples::the_programs_own_handler_of_the_signal_goes_on_working::jdk_XX
    times::counts::each_call_is_counted::jdk_XX
    times::contexts::methods_are_left_in_every_way::jdk_XX
    times::old::each_pair_of_methods_is_a_line::jdk_XX
    monitor::contention::every_contended_entry_counts_once::jdk_XX
    monitor::dumps::a_dump_shows_who_has_and_who_wants::jdk_XX
    attach::rounds::each_profile_counts_what_happens_while_it_runs::jdk_XX::g1
    exits::sigquit_dumps_and_the_program_goes_on::jdk_XX
)

# test_smoke AGENT COMMAND JVMS TEST...: these tests with that libhprof.so, that hprof and those JVMs
# (<feature>=<home>:<feature>=<home>...); the smoke set of each where none is named.
test_smoke() {
    local jvms=$3 feature tests=("${@:4}")
    if ((${#tests[@]} == 0)); then
        for feature in $(tr ':' '\n' <<<"$jvms" | cut -d = -f 1); do tests+=("${smoke_tests[@]/jdk_XX/jdk_$feature}"); done
    fi
    clean_java_environment
    HPROF_JAVAC_HOME=$(newest_compiler)
    export HPROF_JAVAC_HOME HPROF_JVMS=$jvms HPROF_AGENT=$1 HPROF_CLI=$2 HPROF_PROGRAMS=${programs:?}
    cargo test --locked --test jvm -- --test-threads=2 "${tests[@]}"
}
