return answer_hold(id)
