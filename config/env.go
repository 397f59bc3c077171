package config

import "strings"

// envPrefix begins the names of countd's environment variables; the option's name follows in upper
// case, with "_" for "-".
const envPrefix = "COUNTD_"

// loadEnv sets the options that environ ("NAME=value" strings) names. An empty variable counts as
// not set. A list's words are separated by blanks, lines by line ends, their words as in a file; any other
// value is taken as it is.
func (c *Config) loadEnv(environ []string) error {
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		suffix, ours := strings.CutPrefix(name, envPrefix)
		if !ours || value == "" || injected(suffix, value) {
			continue
		}
		option := strings.ReplaceAll(strings.ToLower(suffix), "_", "-")
		if err := c.setEnv(option, value); err != nil {
			return at(err, "environment variable "+name)
		}
	}
	return nil
}

func (c *Config) setEnv(option, value string) error {
	o, ok := lookup(option)
	switch {
	case !ok:
		return c.Set(option, []string{value})
	case o.Kind != KindLines:
		return c.Set(option, o.words(value))
	}
	more := false
	for line := range strings.Lines(value) {
		words, ok := splitWords(line)
		if !ok {
			return &Error{Kind: BadSyntax, Reason: "unbalanced quotes"}
		}
		if len(words) == 0 {
			continue
		}
		if err := c.set(option, words, more); err != nil {
			return err
		}
		more = true
	}
	return nil
}

// injected reports variables that are not meant as options: what Docker links and Kubernetes put
// into the environment beside a service called "countd" (COUNTD_PORT=tcp://10.0.0.11:6379,
// COUNTD_SERVICE_HOST, COUNTD_PORT_6379_TCP, …), and COUNTD_TEST_…, which the tests use.
func injected(suffix, value string) bool {
	for _, prefix := range []string{"SERVICE_", "PORT_", "TEST_"} {
		if strings.HasPrefix(suffix, prefix) {
			return true
		}
	}
	return suffix == "PORT" && strings.Contains(value, "://") ||
		suffix == "NAME" && strings.HasPrefix(value, "/")
}
