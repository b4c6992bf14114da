return answer(id)
