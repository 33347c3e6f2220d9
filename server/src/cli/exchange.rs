//! `flightdeck export` and `flightdeck import`: workflows as documents that another Flightdeck takes.

use super::place::{Place, one_named, workspaces_named};
use super::{say, tell};
use anyhow::Context;
use board::{Actor, Board};
use clap::Args;
use domain::error::Refusal;
use domain::exchange::WorkflowDocument;
use domain::ids::WorkspaceId;
use std::path::{Path, PathBuf};

/// What to write out.
#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// A workflow, by its id or its name; again for more of them. Without any, all of the workspace
    workflow: Vec<String>,
    /// The workspace, by its id or its name; without one, the oldest
    #[arg(long)]
    workspace: Option<String>,
    #[command(flatten)]
    place: Place,
}

/// What to read in.
#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// The document, JSON or YAML; `-` is standard input
    file: PathBuf,
    /// The workspace to make its workflows in, by its id or its name; without one, the oldest
    #[arg(long)]
    workspace: Option<String>,
    #[command(flatten)]
    place: Place,
}

/// Writes the document, alone, to standard output.
pub(super) async fn export(args: ExportArgs) -> anyhow::Result<()> {
    let ExportArgs {
        workflow,
        workspace,
        place,
    } = args;
    let document = place
        .with(async |board| {
            let workspace = chosen(board, workspace).await?;
            let known = board.workflow_list(&Actor::Operator, workspace).await?;
            let known: Vec<_> = known
                .iter()
                .map(|one| (one.workflow.id, one.workflow.name.as_str()))
                .collect();
            let wanted = if workflow.is_empty() {
                known.iter().map(|(id, _)| *id).collect()
            } else {
                let found = workflow
                    .iter()
                    .map(|name| one_named(&known, "workflow", name));
                found.collect::<Result<Vec<_>, _>>()?
            };
            let mut workflows = Vec::new();
            for id in wanted {
                let document = board.workflow_export(&Actor::Operator, id).await?;
                workflows.extend(document.workflows);
            }
            Ok(WorkflowDocument::of(workflows))
        })
        .await?;
    tell(&serde_json::to_string_pretty(&document)?);
    Ok(())
}

/// Makes the workflows of a document, all or none, and says which they are.
pub(super) async fn import(args: ImportArgs) -> anyhow::Result<()> {
    let ImportArgs {
        file,
        workspace,
        place,
    } = args;
    let text = read(&file)?;
    let made = place
        .with(async |board| {
            let workspace = chosen(board, workspace).await?;
            board
                .workflow_import(&Actor::Operator, workspace, &text)
                .await
        })
        .await?;
    for one in made {
        tell(&format!(
            "{}  {} steps  {}",
            one.workflow.id,
            one.steps.len(),
            one.workflow.name
        ));
    }
    // Beside the list, so that a program can read that alone.
    say(
        std::io::stderr(),
        "A server that runs shows them when its pages are loaded again.",
    );
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<String> {
    if file == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
            .context("the document could not be read from standard input")
    } else {
        std::fs::read_to_string(file)
            .with_context(|| format!("{} could not be read", file.display()))
    }
}

async fn chosen(board: &Board, named: Option<String>) -> board::Result<WorkspaceId> {
    let first = match named {
        Some(named) => workspaces_named(board, &[named]).await?.first().copied(),
        None => {
            let known = board.workspace_list(&Actor::Operator).await?;
            known.first().map(|workspace| workspace.id)
        }
    };
    Ok(first.ok_or_else(|| Refusal::not_found("workspace"))?)
}
