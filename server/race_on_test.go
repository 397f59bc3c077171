//go:build race

package server

// raceDetector says that the test runs under the race detector, five to ten times as slow.
const raceDetector = true
