package config

import (
	"net"
	"strconv"
	"strings"
)

// Address is a place to listen on.
type Address struct {
	Host string // an IP address or a host's name; "0.0.0.0" and "::" are every interface
	Port int
	// Optional addresses are left out, with a word in the log, where this machine does not have
	// them; a busy port stops the start all the same. Redis writes them with a leading "-".
	Optional bool
}

// String is the address as net.Listen takes it.
func (a Address) String() string { return net.JoinHostPort(a.Host, strconv.Itoa(a.Port)) }

// Network is "tcp4" or "tcp6" where the host says which, as Redis opens them (a "::" socket takes no
// IPv4), and "tcp" for a name.
func (a Address) Network() string {
	switch ip := net.ParseIP(a.Host); {
	case strings.Contains(a.Host, ":"):
		return "tcp6"
	case ip != nil:
		return "tcp4"
	default:
		return "tcp"
	}
}

// Addresses are the addresses of bind and port.
func (c *Config) Addresses() []Address {
	port := int(c.Int("port"))
	var list []Address
	for _, word := range c.List("bind") {
		host, optional := strings.CutPrefix(word, "-")
		switch host {
		case "*":
			host = "0.0.0.0"
		case "::*":
			host = "::"
		}
		list = append(list, Address{Host: host, Port: port, Optional: optional})
	}
	return list
}
