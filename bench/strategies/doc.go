// Command strategies compares routing strategies under a load of several users, one of whom floods: how evenly the
// users are served (Jain's index), how much of the prompts the servers had in their caches, and what the others wait
// for. Real Envoy, simulated servers with queues and caches, every strategy in turn and in another order in each round.
// It prints a table and writes a plot:
//
//	make bench-strategies
//
// All users send as much as they can, each with so many requests at a time. Jain's index is (sum x)^2 / (n sum x^2) of
// the tokens that n users were served in a second, outputs counting twice: 1 when all got the same, 1/n when one got
// all.
package main
