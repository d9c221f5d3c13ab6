// Starts `assay lsp` for Metal sources. Everything else is the server's.

import * as vscode from "vscode";
import { LanguageClient, TransportKind } from "vscode-languageclient/node";
import { command, initializationOptions, startFailure } from "./server";

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("assay.restart", async () => {
      await stop();
      await start();
    }),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration("assay.path")) {
        await stop();
        await start();
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await stop();
}

async function start(): Promise<void> {
  const settings = vscode.workspace.getConfiguration("assay");
  const server = command(settings);
  client = new LanguageClient(
    "assay",
    "Assay",
    { ...server, transport: TransportKind.stdio },
    {
      documentSelector: [{ language: "metal" }, { pattern: "**/*.metal" }],
      initializationOptions: initializationOptions(settings),
      synchronize: { configurationSection: "assay" },
    },
  );
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    void vscode.window.showErrorMessage(startFailure(server.command, error));
  }
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  await running?.stop();
}
