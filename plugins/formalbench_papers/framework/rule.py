"""The rule by which a cell of a table of accuracies holds, in words; `accuracies` applies it."""

RULE = (
    "A cell holds if the paper's average, and its maximum where there is one, are no more than 2 "
    "points from ours. It differs if the paper's average is further away than that and outside "
    "our 95 % interval (over seeds and test strings), whichever is better; or, where the average "
    "tells nothing, if the maxima are 10 points apart. Otherwise, or while planned seeds have not "
    "been run, our seeds cannot tell."
)
