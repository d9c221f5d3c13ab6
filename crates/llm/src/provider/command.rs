//! The user's own command: the prompt on its standard input, the answer on its standard output.
//!
//! The command is the user's, given on the command line; a model has no say in it. It is run by the shell, so that it may
//! have arguments and pipes. The prompt is the system's part, an empty line, then the conversation.

use super::Provider;
use crate::chat::{Answer, LONGEST_ANSWER, Request, Role};
use crate::error::Error;
use std::io::{Read, Write as _};
use std::process::{Child, Command as Process, Stdio};
use std::time::{Duration, Instant};

/// A command that answers.
#[derive(Clone, Debug)]
pub struct Command {
    /// What the shell runs.
    pub line: String,
    /// How long it may take.
    pub timeout: Duration,
}

/// A request as text.
pub fn as_text(request: &Request) -> String {
    let mut text = request.system.clone();
    for message in &request.messages {
        text.push_str(match message.role {
            Role::User => "\n\n",
            Role::Assistant => "\n\nYour answer before:\n\n",
        });
        text.push_str(&message.text);
    }
    text.push('\n');
    text
}

impl Command {
    fn failed(&self, why: impl Into<String>) -> Error {
        Error::Command {
            command: self.line.clone(),
            why: why.into(),
        }
    }

    fn wait(
        &self,
        child: &mut Child,
        heard: &mut dyn FnMut(usize) -> bool,
    ) -> Result<std::process::ExitStatus, Error> {
        let end = Instant::now() + self.timeout;
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => {}
                Err(error) => return Err(self.failed(error.to_string())),
            }
            let stop = match (Instant::now() >= end, heard(0)) {
                (true, _) => Some(Error::TimedOut {
                    provider: self.name(),
                    seconds: self.timeout.as_secs(),
                }),
                (_, false) => Some(Error::Stopped),
                _ => None,
            };
            if let Some(error) = stop {
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Provider for Command {
    fn name(&self) -> String {
        "command".to_owned()
    }

    fn complete(
        &self,
        request: &Request,
        heard: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Answer, Error> {
        let mut child = Process::new("/bin/sh")
            .arg("-c")
            .arg(&self.line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| self.failed(error.to_string()))?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let prompt = as_text(request);
        // Readers are not waited for when a command is stopped: what it started may keep its streams open.
        std::thread::spawn(move || {
            if let Some(mut stdin) = stdin {
                // A command may answer without reading everything.
                let _ = stdin.write_all(prompt.as_bytes());
            }
        });
        let stdout = std::thread::spawn(move || bounded(stdout, LONGEST_ANSWER + 1));
        let stderr = std::thread::spawn(move || bounded(stderr, 1 << 16));
        let status = self.wait(&mut child, heard)?;
        let stdout = stdout.join().unwrap_or_default();
        let stderr = stderr.join().unwrap_or_default();
        if !status.success() {
            let said = String::from_utf8_lossy(&stderr);
            let last = said.lines().rev().find(|line| !line.trim().is_empty());
            let why = last.map_or(status.to_string(), |last| format!("{status}: {last}"));
            return Err(self.failed(why));
        }
        if stdout.len() > LONGEST_ANSWER {
            let limit = LONGEST_ANSWER;
            return Err(Error::TooLong { limit });
        }
        let text = String::from_utf8(stdout).map_err(|_| Error::Malformed {
            provider: self.name(),
            why: "it is not UTF-8".to_owned(),
        })?;
        Ok(Answer { text, usage: None })
    }
}

fn bounded(stream: Option<impl Read>, most: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        let _ = stream.by_ref().take(most as u64).read_to_end(&mut bytes);
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    }
    bytes
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::chat::Message;

    fn ask(line: &str, timeout: f64) -> Result<Answer, Error> {
        let command = Command {
            line: line.to_owned(),
            timeout: Duration::from_secs_f64(timeout),
        };
        let request = Request {
            model: "m".to_owned(),
            system: "be brief".to_owned(),
            messages: vec![Message {
                role: Role::User,
                text: "$(touch /tmp/never) `id`".to_owned(),
            }],
            max_tokens: 10,
            schema: None,
        };
        command.complete(&request, &mut |_| true)
    }

    #[test]
    fn the_prompt_is_data_and_the_output_the_answer() {
        let answer = ask("cat", 10.0).unwrap();
        assert_eq!(answer.text, "be brief\n\n$(touch /tmp/never) `id`\n");
        assert_eq!(answer.usage, None);
        assert_eq!(ask("head -c 8", 10.0).unwrap().text, "be brief");
    }

    #[test]
    fn commands_that_fail_hang_or_say_too_much_are_errors() {
        let error = ask("echo no model >&2; exit 3", 10.0)
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("exit status: 3: no model"), "{error}");
        let error = ask("sleep 60", 0.2).unwrap_err();
        assert!(matches!(error, Error::TimedOut { .. }), "{error}");
        let error = ask("yes | head -c 2000000", 10.0).unwrap_err();
        assert!(matches!(error, Error::TooLong { .. }), "{error}");
        let error = ask("printf '\\377'", 10.0).unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
    }
}
