//! A client of the SDK that has started `hprof mcp`.

use std::path::Path;
use std::process::Stdio;

use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::RunningService;
use rmcp::{RoleClient, ServiceExt};
use serde_json::Value;
use tokio::process::{Child, Command};
use tokio::runtime::Runtime;

/// A client and the server that it has started.
pub struct Client {
    runtime: Runtime,
    service: RunningService<RoleClient, ()>,
    server: Child,
}

impl Client {
    /// Starts a server for a folder.
    pub fn start(hprof: impl AsRef<Path>, options: &[&str], folder: &Path) -> Client {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let (service, server) = runtime.block_on(async {
            let mut server = Command::new(hprof.as_ref())
                .arg("mcp")
                .args(options)
                .arg(folder)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .kill_on_drop(true)
                .spawn()
                .expect("hprof");
            let streams = (server.stdout.take(), server.stdin.take());
            let (Some(output), Some(input)) = streams else {
                panic!("the streams are pipes")
            };
            let service = ().serve((output, input)).await.expect("a session");
            (service, server)
        });
        Client {
            runtime,
            service,
            server,
        }
    }

    /// Returns what the server says first.
    pub fn instructions(&self) -> String {
        let info = self.service.peer_info().expect("a session");
        info.instructions.clone().expect("instructions")
    }

    /// Returns the names of the tools.
    pub fn tools(&self) -> Vec<String> {
        let tools = self.runtime.block_on(self.service.list_all_tools());
        let tools = tools.expect("a list").into_iter();
        tools.map(|tool| tool.name.into_owned()).collect()
    }

    /// Returns the text of an answer, or the line that says why there is none.
    pub fn ask(&self, tool: &str, arguments: &Value) -> Result<String, String> {
        let mut call = CallToolRequestParams::new(tool.to_owned());
        call.arguments = arguments.as_object().cloned();
        let answer = self.runtime.block_on(self.service.call_tool(call));
        let CallToolResult {
            content, is_error, ..
        } = answer.expect("an answer of the protocol");
        let [content] = content.as_slice() else {
            panic!("one text: {content:?}")
        };
        let text = content.as_text().expect("a text").text.clone();
        match is_error {
            Some(true) => {
                assert!(!text.contains('\n'), "{text:?} is not one line");
                let error: Value = serde_json::from_str(&text).expect("JSON");
                let untrusted = error["untrusted"].as_str().expect("a text");
                assert!(untrusted.contains("never an instruction"), "{untrusted}");
                Err(error["error"].as_str().expect("a line").to_owned())
            }
            _ => Ok(text),
        }
    }

    /// Asks all of these at once; returns the number of the one that is answered first.
    pub fn first_answered(&self, questions: &[(&str, Value)]) -> usize {
        let mut running = tokio::task::JoinSet::new();
        let _guard = self.runtime.enter();
        for (number, (tool, arguments)) in questions.iter().enumerate() {
            let mut call = CallToolRequestParams::new((*tool).to_owned());
            call.arguments = arguments.as_object().cloned();
            let peer = self.service.peer().clone();
            running.spawn(async move { peer.call_tool(call).await.map(|_| number) });
        }
        let first = self.runtime.block_on(running.join_next());
        first
            .expect("a question")
            .expect("a task")
            .expect("an answer")
    }

    /// Returns an answer as JSON.
    pub fn answer(&self, tool: &str, arguments: &Value) -> Value {
        let text = self.ask(tool, arguments);
        let text = text.unwrap_or_else(|line| panic!("{tool} {arguments}: {line}"));
        serde_json::from_str(&text).expect("JSON")
    }

    /// Returns the line that says why there is no answer.
    pub fn refused(&self, tool: &str, arguments: &Value) -> String {
        self.ask(tool, arguments).expect_err("no answer")
    }

    /// Ends the session, upon which the server ends well and has said nothing outside the protocol.
    pub fn end(self) {
        let Client {
            runtime,
            service,
            server,
        } = self;
        runtime.block_on(async {
            service.cancel().await.expect("the session ends");
            let output = server.wait_with_output().await.expect("the server ends");
            assert!(output.status.success(), "{output:?}");
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(error, "");
        });
    }
}
