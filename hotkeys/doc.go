// Package hotkeys finds the keys that take the most commands: which of them to promote, which to
// demote, and how fast they are.
//
// The nouns:
//
//   - A Sampler belongs to one event loop, which calls Hit for what it runs. Each command is sampled
//     with the probability 1/N and then stands for N; N follows the load (sampler.go).
//   - Samples go to the Sampler's Space-Saving sketch (package sketch), which covers one tick.
//   - A period is what all loops saw between two ticks: their sketches merged, what is too rare to
//     matter left out (window.go).
//   - The window is the sum of the newest periods; a key's rate is its commands there by the time
//     that really passed.
//   - The Detector decides at each tick (decide.go): a key whose rate and share of all commands
//     reach the upper thresholds is promoted; one that was below the lower ones for the hold time is
//     demoted. Between the two nothing changes, so that no key flaps.
//
// There is no clock here that anything is decided by: Tick is told the time. The package knows no
// engine; whoever calls Tick promotes and demotes.
//
// # How exact
//
// Every command is sampled independently, so that a key with n commands is counted as n on average
// with a variance of at most n(N-1) (Horvitz and Thompson's estimator). A key with the share p of a
// window of one second on S samples has a standard deviation of 1/sqrt(p*S): 3.9% at the default
// threshold, p = 0.01 and S = 65,536, so that 20% are five of them. What Space-Saving may have
// counted too much is subtracted, so that a key is never promoted on what others did.
//
// # Caveats
//
//   - Keys above MaxKeyBytes are not tracked.
//   - A key is seen where it takes about 1/Config.Entries of a loop's commands.
//   - Promoted keys must go through Hit as before, or they cool.
package hotkeys
