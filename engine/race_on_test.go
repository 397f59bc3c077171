//go:build race

package engine

// raceDetector says that the test runs under the race detector, five to ten times as slow.
const raceDetector = true
