// Command profiles compares configurations by simulation in virtual time: what pintle replay does, for traffic that is
// made up. It is what the weights of the shipped configuration were chosen by.
//
// A server prefills one prompt at a time, keeps the blocks of prompts in a cache, least recently used first to go, and
// decodes all running requests together, slower the more they are and while it prefills. Its metrics are sampled every
// 50 ms.
package main
