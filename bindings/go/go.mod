module lazyloom

go 1.18
