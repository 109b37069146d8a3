// Command scale measures what several gateways find cached that know of each other late, or not at all, at a size that
// no machine here has: in virtual time, by the code that decides in Envoy, as pintle replay does.
//
// The sessions are those that smg publishes for its shared index (https://github.com/smg-project/smg/pull/2438, and
// scripts/generate_sim/profiles/local-medium.json there): 240 servers, 611 new sessions a second, a third of which ask
// once more 3 s after their answer, through any of 8 gateways. A quarter of that, the default, takes two minutes of two
// processors, the whole some ten.
package main
