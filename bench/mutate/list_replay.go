package main

var replayMutants = []mutant{
	{file: "internal/replay/recording.go", name: "images tell the text around them",
		before: "\t\tif c.ID == scoring.MediaChainID() {", after: "\t\tif c.ID == scoring.MediaChainID()+1 {"},
	{file: "internal/replay/recording.go", name: "what is left of a prompt of ids is taken for known",
		before: "chain.BlockBytes > 0 && chain.BlockBytes < most && chain.ID() == c.ID:",
		after:  "chain.BlockBytes > most && chain.ID() == c.ID:"},
	{file: "internal/replay/recording.go", name: "of chains as long the first counts",
		before: "told > best || told == best && size < p.UnitBytes", after: "told > best"},
	{file: "internal/replay/recording.go", name: "who answered in another's place is lost",
		before: "\tq.Recorded.Endpoint = e.Primary\n", after: "\t_ = e.Primary\n"},
	{file: "internal/replay/recording.go", name: "models have no names",
		before: "item.Name != \"\" && item.Kind == journal.ModelName:",
		after:  "item.Name == \"\" && item.Kind == journal.ModelName:"},
}
