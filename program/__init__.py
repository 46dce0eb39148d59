"""How a question is answered: the register, the budget, the loop."""
