//! One plugin, `page`, with a version before the one that is served.

use std::sync::Mutex;

use sandhog_model::UnixMs;

use crate::plugin::{
    ActRefused, CheckRefused, Checked, Held, KindInfo, Plugin, PluginAct, PluginDesk, PluginView,
    Problem, Quarantine, Version, VersionView,
};

/// The plugin as it is served.
pub(super) fn page() -> Plugin {
    Plugin {
        name: "page".into(),
        file: "plugins/page.wasm".into(),
        digest: "ab".repeat(32),
        size: 120_000,
        sdk: "sandhog-sdk 0.1.0".into(),
        kinds: vec![KindInfo {
            kind: "page".into(),
            summary: "Markdown to HTML".into(),
            ..KindInfo::default()
        }],
        code: "code/ab".into(),
        cached: true,
        asks: None,
        grants: std::sync::Arc::default(),
    }
}

/// What was done to it.
#[derive(Debug, Default)]
pub(crate) struct Shelf(Mutex<Option<PluginAct>>);

fn version(digest: &str) -> Version {
    Version {
        digest: digest.repeat(32),
        size: 120_000,
        sdk: "sandhog-sdk 0.1.0".into(),
        taken_at: UnixMs(1_790_000_000_000),
        proven: digest == "cd",
    }
}

impl PluginDesk for Shelf {
    fn view(&self, name: &str) -> Option<PluginView> {
        if name != "page" {
            return None;
        }
        let held = |why: &str| Held {
            plugin: page(),
            since: Some(UnixMs(1_790_000_000_000)),
            why: why.into(),
            by_hand: true,
        };
        let mut view = PluginView {
            name: name.into(),
            file: page().file,
            served: Some(page()),
            of_file: Some(page().digest),
            held: None,
            problem: None,
            imports: vec!["sandhog:job/enqueue@0.1.0".into()],
            versions: ["ab", "cd"]
                .map(|digest| VersionView {
                    version: version(digest),
                    quarantine: None,
                })
                .to_vec(),
        };
        match &*self.0.lock().unwrap() {
            None | Some(PluginAct::Release) => {}
            Some(PluginAct::Rollback { .. }) => {
                view.served = Some(Plugin {
                    digest: "cd".repeat(32),
                    ..page()
                });
            }
            Some(PluginAct::Quarantine { why }) => {
                let why = why.as_deref().unwrap_or("someone said so\u{1b}[0m");
                view.served = None;
                view.held = Some(held(why));
                view.versions[0].quarantine = Some(Quarantine {
                    since: UnixMs(1_790_000_000_000),
                    why: why.into(),
                    by_hand: true,
                });
            }
        }
        Some(view)
    }

    fn check(&self, name: &str) -> Result<Result<Checked, Problem>, CheckRefused> {
        let view = self.view(name).ok_or(CheckRefused::NoPlugin)?;
        Ok(match view.served {
            Some(plugin) => Ok(Checked {
                plugin,
                imports: view.imports,
            }),
            None => Err(Problem {
                file: view.file,
                cause: "it broke".into(),
                hint: "mend it".into(),
                earlier_served: false,
            }),
        })
    }

    fn act(&self, name: &str, act: PluginAct) -> Result<PluginView, ActRefused> {
        *self.0.lock().unwrap() = Some(act);
        self.view(name).ok_or_else(|| ActRefused::NoPlugin {
            name: name.into(),
            known: "page".into(),
        })
    }
}
