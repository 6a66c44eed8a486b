//! The Maven command of `docs/guide/install.md`: the tests of a project are profiled without changing it.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::{platforms, run};
use crate::harness::{compiler, reader};
use crate::heap::sites;
use crate::profile::Profile;

/// With the plugins that `install_maven_build` of `scripts/lib/install.sh` fetches, so that this test needs no network.
const POM: &str = "\
<project xmlns=\"http://maven.apache.org/POM/4.0.0\">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId><artifactId>tested</artifactId><version>1</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source><maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version><scope>test</scope></dependency>
  </dependencies>
  <build><plugins>
    <plugin><artifactId>maven-resources-plugin</artifactId><version>3.3.1</version></plugin>
    <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.13.0</version></plugin>
    <plugin><artifactId>maven-surefire-plugin</artifactId><version>3.2.5</version></plugin>
  </plugins></build>
</project>
";

/// Allocates 42 objects.
const TEST: &str = "\
package org.example;

public class ThingTest {
    static class Thing {}

    @org.junit.Test
    public void makes() {
        for (int i = 0; i < 42; i++) new Thing();
    }
}
";

#[test]
fn surefires_vm_is_profiled() {
    let Some((_, root)) = platforms()
        .into_iter()
        .find(|(name, _)| name == "x86_64-gnu")
    else {
        return;
    };
    let Some(repository) = reader("HPROF_MAVEN") else {
        return;
    };
    let folder = TempDir::new().expect("a project");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    write("pom.xml", POM);
    write("src/test/java/org/example/ThingTest.java", TEST);
    let library = run(Command::new(root.join("bin/hprof")).arg("agent-path"));
    let option =
        format!("-agentpath:{library}=heap=sites,depth=2,cutoff=0,file=target/hprof-%p.txt");
    let mut mvn = Command::new("mvn");
    mvn.current_dir(folder.path())
        .arg(format!("-Dmaven.repo.local={}", repository.display()))
        .args(["-o", "-q", "-B", "test"]);
    run(mvn
        .env("JAVA_HOME", compiler())
        .arg(format!("-DargLine={option}")));
    let made: u64 = profiles(&folder.path().join("target"))
        .iter()
        .map(|profile| {
            let class = "org.example.ThingTest$Thing";
            sites::count(
                profile,
                profile.one_sites(),
                class,
                "org.example.ThingTest.makes",
            )
            .allocated
        })
        .sum();
    assert_eq!(made, 42);
}

fn profiles(folder: &Path) -> Vec<Profile> {
    let entries = fs::read_dir(folder).expect("the target");
    let files = entries.map(|entry| entry.expect("an entry").path());
    let is_profile = |path: &std::path::PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("hprof-"))
    };
    files
        .filter(is_profile)
        .map(|path| Profile::parse(&fs::read_to_string(path).expect("a profile")))
        .collect()
}
