package server

import (
	"fmt"
	"strings"
	"testing"

	"countd/engine"
)

func TestEveryErrorOfTheEngineHasAReply(t *testing.T) {
	for _, e := range engineErrors {
		wrapped := fmt.Errorf("wrapped: %w: cause", e.err)
		if got := engineErrorText(wrapped); got != e.text {
			t.Errorf("%v is replied as %q", e.err, got)
		}
		code, sentence, ok := strings.Cut(e.text, " ")
		if !ok || code != strings.ToUpper(code) || sentence == "" {
			t.Errorf("%q has no code", e.text)
		}
	}
	if got := engineErrorText(fmt.Errorf("a\r\nb")); got != "ERR a  b" {
		t.Errorf("an unknown error is replied as %q", got)
	}
	if text := engineErrorText(engine.ErrSyncFailed); !strings.HasPrefix(text, "MISCONF ") {
		t.Errorf("a failed sync is replied as %q", text)
	}
}
