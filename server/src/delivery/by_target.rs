//! The right adapter for each target.

use super::{DeliverySettings, Discord, InApp, Webhook};
use crate::jobs::{Channel, Deliver};
use board::Clock;
use domain::job::{Delivery, Failure, Target, TargetKind};
use futures::future::BoxFuture;

/// All ways to users.
#[derive(Debug)]
pub struct ByTarget {
    discord: Discord,
    webhook: Webhook,
}

impl ByTarget {
    /// The ways that are set up; each of the others says that it is not.
    ///
    /// # Errors
    ///
    /// When no HTTP client can be made.
    pub fn new(settings: DeliverySettings, clock: Clock) -> Result<Self, Failure> {
        Ok(Self {
            discord: Discord::new(settings.discord)?,
            webhook: Webhook::new(settings.webhook, clock)?,
        })
    }
}

impl Deliver for ByTarget {
    fn open<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Channel, Failure>> {
        Box::pin(async move {
            let address = match target.kind {
                TargetKind::DiscordDm => self.discord.open(&target.user_id).await?,
                TargetKind::Webhook => {
                    self.webhook.open()?;
                    target.user_id.clone()
                }
                TargetKind::InApp => target.user_id.clone(),
            };
            Ok(Channel {
                target: target.clone(),
                address,
            })
        })
    }

    fn send<'a>(
        &'a self,
        channel: &'a Channel,
        piece: &'a Delivery,
    ) -> BoxFuture<'a, Result<String, Failure>> {
        Box::pin(async move {
            match channel.target.kind {
                TargetKind::DiscordDm => {
                    self.discord
                        .send(&channel.address, &piece.body, &piece.nonce)
                        .await
                }
                TargetKind::Webhook => self.webhook.send(&channel.target, piece).await,
                TargetKind::InApp => Ok(InApp::id_of(&piece.nonce)),
            }
        })
    }
}
